import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { SallyportEvent } from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import { ToolsEditor, type ToolsEditorOptions, type ToolsFileChange } from './tools-editor.ts'
import type { NewEntry } from './tools-file/tools-file.ts'

const GOOD = '# mine\ntools:\n  mcp__a__one:\n    hidden: true\n'
const BROKEN = 'tools:\n  mcp__a__one:\n    hidden: maybe\n'

const newEntry = (name: string): NewEntry => ({
  name,
  discoveredAt: new Date(0),
  findings: [],
  category: 'mcp',
  permission: { value: ['READ'], reason: 'x' },
  riskLevel: { value: 'low', reason: 'x' },
  requiresApproval: false,
  allowedInModes: ['NORMAL'],
  pin: 'sha256-0',
})

interface Bench {
  readonly folder: string
  readonly path: string
  readonly keeper: ToolsEditor
  readonly events: SallyportEvent[]
  readonly warnings: string[]
  /** What each file brought that came into force. */
  readonly news: ToolsFileChange[]
  /** Resolves when the keeper next says anything: a warning, or that another file is in force. */
  heard(): Promise<void>
}

function openBench(text: string | undefined, options: Partial<ToolsEditorOptions> = {}): Bench {
  const folder = scratchFolder()
  const path = join(folder, 'tools.yaml')
  if (text !== undefined) writeFileSync(path, text)
  return benchAt(path, options)
}

function benchAt(path: string, options: Partial<ToolsEditorOptions> = {}): Bench {
  const events: SallyportEvent[] = []
  const warnings: string[] = []
  const news: ToolsFileChange[] = []
  let hear = (): void => undefined
  const keeper = new ToolsEditor({
    path,
    bytes: existsSync(path) ? readFileSync(path) : undefined,
    findTrustProblem: async () => undefined,
    onWritten: async () => undefined,
    onChange: (what) => {
      news.push(what)
      hear()
    },
    record: (event) => void events.push(event),
    onWarning: (warning) => {
      warnings.push(warning)
      hear()
    },
    ...options,
  })
  onTestFinished(() => keeper.close())
  const heard = (): Promise<void> =>
    new Promise((resolve) => {
      hear = resolve
    })
  return { folder: join(path, '..'), path, keeper, events, warnings, news, heard }
}

const keysOf = ({ keeper }: Bench): readonly string[] => keeper.file.entries.map(({ key }) => key)

describe('a saved edit is in force soon', () => {
  it.each([
    ['written in place', (path: string, text: string) => writeFileSync(path, text)],
    [
      'written beside it and renamed',
      (path: string, text: string) => {
        writeFileSync(`${path}.swp`, text)
        renameSync(`${path}.swp`, path)
      },
    ],
    [
      'removed and written anew',
      (path: string, text: string) => {
        rmSync(path)
        writeFileSync(path, text)
      },
    ],
    [
      'in a folder that takes the place of the other',
      (path: string, text: string) => {
        const folder = join(path, '..')
        mkdirSync(`${folder}-new`)
        writeFileSync(join(`${folder}-new`, 'tools.yaml'), text)
        renameSync(folder, `${folder}-old`)
        renameSync(`${folder}-new`, folder)
        onTestFinished(() => rmSync(`${folder}-old`, { recursive: true }))
      },
    ],
  ])('%s', async (_way, save) => {
    const bench = openBench(GOOD)
    bench.keeper.watch()
    const heard = bench.heard()
    save(bench.path, `${GOOD}  mcp__a__two: {}\n`)
    await heard
    expect(keysOf(bench)).toEqual(['mcp__a__one', 'mcp__a__two'])
    expect(bench.events).toMatchObject([{ type: 'TOOLS_FILE_RELOADED', entries: 2 }])
  })

  it('through a link to a file elsewhere', async () => {
    const [here, there] = [scratchFolder(), scratchFolder()]
    writeFileSync(join(there, 'real.yaml'), GOOD)
    symlinkSync(join(there, 'real.yaml'), join(here, 'tools.yaml'))
    const bench = benchAt(join(here, 'tools.yaml'))
    bench.keeper.watch()
    const heard = bench.heard()
    appendFileSync(join(there, 'real.yaml'), '  mcp__a__two: {}\n')
    await heard
    expect(keysOf(bench)).toEqual(['mcp__a__one', 'mcp__a__two'])
  })
})

describe('a field that is not known', () => {
  it('is told of at the start, and again only when another one comes', async () => {
    const bench = openBench(`${GOOD}    forbiden_paths: [/etc]\n`)
    expect(bench.warnings).toEqual([expect.stringContaining('Did you mean "forbidden_paths"?')])
    bench.keeper.watch()
    const heard = bench.heard()
    writeFileSync(bench.path, `${GOOD}    forbiden_paths: [/etc]\n    hiden: true\n`)
    await heard
    expect(bench.warnings.slice(1)).toEqual([expect.stringContaining('Did you mean "hidden"?')])
  })
})

describe('a file that cannot be used', () => {
  it('leaves the last good one in force, and says line and column once', async () => {
    const bench = openBench(GOOD)
    bench.keeper.watch()
    const heard = bench.heard()
    writeFileSync(bench.path, BROKEN)
    await heard
    expect(keysOf(bench)).toEqual(['mcp__a__one'])
    expect(bench.keeper.file.entries[0]?.fields).toEqual({ hidden: true })
    expect(bench.keeper.unusableReason).toBeUndefined()
    expect(bench.keeper.issue).toContain(`${bench.path}:3:5:`)
    expect(bench.warnings).toEqual([expect.stringContaining(`${bench.path}:3:5:`)])
    expect(bench.events).toEqual([{ type: 'TOOLS_FILE_REJECTED', file: bench.path, message: bench.keeper.issue }])
  })

  it('is forgotten when the last good one is put back', async () => {
    const bench = openBench(GOOD)
    bench.keeper.watch()
    const heard = bench.heard()
    writeFileSync(bench.path, BROKEN)
    await heard
    writeFileSync(bench.path, GOOD)
    await expect.poll(() => bench.keeper.issue).toBeUndefined()
    expect(bench.events.map(({ type }) => type)).toEqual(['TOOLS_FILE_REJECTED'])
  })

  it.each([
    ['with a mistake', BROKEN, ':3:5:'],
    ['that is not YAML', 'tools: [', ':1:'],
    ['that is not UTF-8', Buffer.from([0xff, 0xfe, 0x00]), 'UTF-8'],
  ])('%s at the start closes everything until it is corrected', async (_what, text, reason) => {
    const folder = scratchFolder()
    const path = join(folder, 'tools.yaml')
    writeFileSync(path, text)
    const bench = benchAt(path)
    expect(bench.keeper.unusableReason).toContain(reason)
    const told = bench.heard()
    bench.keeper.watch()
    await told
    expect(bench.warnings).toEqual([expect.stringContaining('Nothing can be called until it is corrected')])
    expect(bench.events).toMatchObject([{ type: 'TOOLS_FILE_REJECTED' }])
    const corrected = bench.heard()
    writeFileSync(path, GOOD)
    await corrected
    expect([bench.keeper.unusableReason, bench.keeper.issue, keysOf(bench)]).toEqual([
      undefined,
      undefined,
      ['mcp__a__one'],
    ])
  })

  it.each([
    ['with a mistake', BROKEN],
    ['that is not YAML', BROKEN.replace('maybe', '[')],
  ])('%s is neither appended to nor changed', async (_what, text) => {
    const bench = openBench(text)
    await bench.keeper.append([newEntry('mcp__b__x')])
    await expect(bench.keeper.set({ key: 'mcp__a__one', field: 'pin', value: 'sha256-1' })).rejects.toMatchObject({
      code: 'TOOLS_FILE_UNSAFE',
      message: expect.stringMatching(/ is left as it is: .* line 3.*[^.]\.$/),
    })
    expect(readFileSync(bench.path, 'utf8')).toBe(text)
    expect(bench.keeper.notWritten).toEqual([expect.stringContaining('is left as it is')])
  })

  it('is told of once, and not once more because tools cannot be written down', async () => {
    const bench = openBench(BROKEN)
    const told = bench.heard()
    bench.keeper.watch()
    await told
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect(bench.warnings).toEqual([expect.stringContaining('Nothing can be called until it is corrected')])
  })

  it('stays as it is when nobody vouches for it, and what we append to it does not come into force', async () => {
    const foreign = `${GOOD}  mcp__a__two: {}\n`
    const findTrustProblem = async (bytes: Buffer) => (String(bytes).includes('two') ? 'it is not trusted' : undefined)
    const bench = openBench(GOOD, { findTrustProblem })
    writeFileSync(bench.path, foreign)
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect(readFileSync(bench.path, 'utf8').startsWith(foreign)).toBe(true)
    expect([keysOf(bench), bench.keeper.issue]).toEqual([['mcp__a__one'], 'it is not trusted'])
  })
})

describe('a file that is taken away', () => {
  it('stays in force, is missed, and is not replaced by one that knows nothing of it', async () => {
    const bench = openBench(GOOD)
    bench.keeper.watch()
    const heard = bench.heard()
    rmSync(bench.path)
    await heard
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect([keysOf(bench), existsSync(bench.path)]).toEqual([['mcp__a__one'], false])
    expect(bench.keeper.issue).toContain('removed')
    const again = bench.heard()
    writeFileSync(bench.path, `${GOOD}  mcp__a__two: {}\n`)
    await again
    expect([keysOf(bench), bench.keeper.issue]).toEqual([['mcp__a__one', 'mcp__a__two'], undefined])
  })

  it('is made by the first append where there never was one', async () => {
    const bench = openBench(undefined)
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect([keysOf(bench), readdirSync(bench.folder)]).toEqual([['mcp__b__x'], ['tools.yaml']])
  })
})

describe('appending', () => {
  it('by several keepers at once loses no entry and writes none twice', async () => {
    const { path } = openBench(GOOD)
    const keepers = Array.from({ length: 4 }, () => benchAt(path))
    const names = Array.from({ length: 30 }, (_, at) => `mcp__b__t${at}`)
    await Promise.all(keepers.flatMap(({ keeper }) => names.map((name) => keeper.append([newEntry(name)]))))
    const text = readFileSync(path, 'utf8')
    expect(text.startsWith(GOOD)).toBe(true)
    expect(Object.keys(parse(text).tools).sort()).toEqual(['mcp__a__one', ...names].sort())
    for (const bench of keepers) expect(keysOf(bench)).toHaveLength(31)
    expect(readdirSync(join(path, '..'))).toEqual(['tools.yaml'])
  })

  it('never loses what a person saves while it is under way', async () => {
    const bench = openBench(GOOD)
    const isWriting = (): boolean => readdirSync(bench.folder).some((name) => name.endsWith('.sallyport-tmp'))
    for (let round = 0; round < 10; round++) {
      const appended = bench.keeper.append([newEntry(`mcp__b__t${round}`)])
      // It has read the file by then, and is about to replace it.
      while (!isWriting()) await new Promise((resolve) => setImmediate(resolve))
      const saved = readFileSync(bench.path, 'utf8').replace('# mine', `# mine, saved ${round}`)
      writeFileSync(`${bench.path}.edit`, saved)
      renameSync(`${bench.path}.edit`, bench.path)
      await appended
      const text = readFileSync(bench.path, 'utf8')
      expect(text).toContain(`# mine, saved ${round}`)
      expect(text).toContain(`mcp__b__t${round}:`)
    }
  })

  it('tells new entries from what a person saved that nobody has looked at yet', async () => {
    const bench = openBench(GOOD)
    await bench.keeper.append([newEntry('mcp__b__x')])
    const edited = readFileSync(bench.path, 'utf8').replace('tools:\n', 'tools:\n  mcp__a__two: {}\n')
    writeFileSync(bench.path, edited)
    await bench.keeper.append([newEntry('mcp__b__y')])
    await bench.keeper.set({ key: 'mcp__a__one', field: 'hidden', value: false })
    expect(bench.news).toEqual(['entries', 'rules', 'rules'])
  })

  it('keeps the mode and the link of the file', async () => {
    const [here, there] = [scratchFolder(), scratchFolder()]
    writeFileSync(join(there, 'real.yaml'), GOOD)
    chmodSync(join(there, 'real.yaml'), 0o640)
    symlinkSync(join(there, 'real.yaml'), join(here, 'tools.yaml'))
    await benchAt(join(here, 'tools.yaml')).keeper.append([newEntry('mcp__b__x')])
    expect(lstatSync(join(here, 'tools.yaml')).isSymbolicLink()).toBe(true)
    expect(statSync(join(there, 'real.yaml')).mode & 0o777).toBe(0o640)
    expect(readFileSync(join(there, 'real.yaml'), 'utf8')).toContain('mcp__b__x')
  })

  it('is refused, and told, where it would make the file larger than what is read of it', async () => {
    const large = `${GOOD}# ${'x'.repeat(16 * 1024 ** 2 - GOOD.length - 10)}\n`
    const bench = openBench(large)
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect(readFileSync(bench.path, 'utf8')).toBe(large)
    expect(bench.keeper.notWritten).toEqual([expect.stringContaining('larger than what is read')])
  })

  it('is refused, and told, where a file of that name is no file', async () => {
    const bench = openBench(undefined)
    mkdirSync(bench.path)
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect(bench.keeper.notWritten).toHaveLength(1)
  })

  it('is refused, and told, where a lock cannot be made', async () => {
    const bench = openBench(GOOD)
    mkdirSync(join(bench.folder, '.tools.yaml.lock'))
    utimesSync(join(bench.folder, '.tools.yaml.lock'), 0, 0)
    await bench.keeper.append([newEntry('mcp__b__x')])
    expect(bench.keeper.notWritten).toHaveLength(1)
    expect(bench.warnings).toEqual([expect.stringContaining('New tools are not written down')])
  })
})

it('tools that cannot be written down are told up to a hundred, each in a few words, and then once that there are more', async () => {
  const bench = openBench(GOOD)
  for (let server = 0; server < 3; server++) {
    const names = Array.from({ length: 90 }, (_, at) => `mcp__b__${server}_${at}_${'x'.repeat(2_000)}`)
    for (let times = 0; times < 2; times++) await bench.keeper.append(names.map(newEntry))
    expect(bench.keeper.notWritten).toHaveLength(90)
  }
  expect(bench.warnings).toHaveLength(101)
  expect(bench.warnings.at(-1)).toMatch(/There are more/)
  expect(Math.max(...bench.warnings.map(({ length }) => length))).toBeLessThan(600)
  await bench.keeper.append([newEntry('mcp__b__short')])
  await bench.keeper.append([newEntry(`mcp__b__${'y'.repeat(2_000)}`)])
  expect(bench.warnings).toHaveLength(102)
})

it('what a killed writer left is removed at the next start', async () => {
  const bench = openBench(GOOD)
  const [lock, temporary] = ['.tools.yaml.lock', '.tools.yaml.4194999-0123456789ab.sallyport-tmp']
  for (const name of [lock, temporary]) writeFileSync(join(bench.folder, name), 'left')
  utimesSync(join(bench.folder, lock), 0, 0)
  bench.keeper.watch()
  await bench.keeper.close()
  expect(readdirSync(bench.folder)).toEqual(['tools.yaml'])
})
