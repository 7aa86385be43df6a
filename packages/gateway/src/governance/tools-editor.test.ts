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

interface TestEditor {
  readonly folder: string
  readonly path: string
  readonly editor: ToolsEditor
  readonly events: SallyportEvent[]
  readonly warnings: string[]
  /** The kind of each change that came into force. */
  readonly changes: ToolsFileChange[]
  /** Resolves at the next warning, or when new content is in force. */
  nextReport(): Promise<void>
}

function openTestEditor(text: string | undefined, options: Partial<ToolsEditorOptions> = {}): TestEditor {
  const folder = scratchFolder()
  const path = join(folder, 'tools.yaml')
  if (text !== undefined) writeFileSync(path, text)
  return openTestEditorAt(path, options)
}

function openTestEditorAt(path: string, options: Partial<ToolsEditorOptions> = {}): TestEditor {
  const events: SallyportEvent[] = []
  const warnings: string[] = []
  const changes: ToolsFileChange[] = []
  let report = (): void => undefined
  const editor = new ToolsEditor({
    path,
    bytes: existsSync(path) ? readFileSync(path) : undefined,
    findTrustProblem: async () => undefined,
    onWritten: async () => undefined,
    onChange: (what) => {
      changes.push(what)
      report()
    },
    record: (event) => void events.push(event),
    onWarning: (warning) => {
      warnings.push(warning)
      report()
    },
    ...options,
  })
  onTestFinished(() => editor.close())
  const nextReport = (): Promise<void> =>
    new Promise((resolve) => {
      report = resolve
    })
  return { folder: join(path, '..'), path, editor, events, warnings, changes, nextReport }
}

const keysOf = ({ editor }: TestEditor): readonly string[] => editor.file.entries.map(({ key }) => key)

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
      'removed and written again',
      (path: string, text: string) => {
        rmSync(path)
        writeFileSync(path, text)
      },
    ],
    [
      'in a folder that replaces the other one',
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
    const test = openTestEditor(GOOD)
    test.editor.watch()
    const reported = test.nextReport()
    save(test.path, `${GOOD}  mcp__a__two: {}\n`)
    await reported
    expect(keysOf(test)).toEqual(['mcp__a__one', 'mcp__a__two'])
    expect(test.events).toMatchObject([{ type: 'TOOLS_FILE_RELOADED', entries: 2 }])
  })

  it('through a link to a file elsewhere', async () => {
    const [here, there] = [scratchFolder(), scratchFolder()]
    writeFileSync(join(there, 'real.yaml'), GOOD)
    symlinkSync(join(there, 'real.yaml'), join(here, 'tools.yaml'))
    const test = openTestEditorAt(join(here, 'tools.yaml'))
    test.editor.watch()
    const reported = test.nextReport()
    appendFileSync(join(there, 'real.yaml'), '  mcp__a__two: {}\n')
    await reported
    expect(keysOf(test)).toEqual(['mcp__a__one', 'mcp__a__two'])
  })
})

describe('a field that is not known', () => {
  it('is reported at the start, and after that only new ones are', async () => {
    const test = openTestEditor(`${GOOD}    forbiden_paths: [/etc]\n`)
    expect(test.warnings).toEqual([expect.stringContaining('Did you mean "forbidden_paths"?')])
    test.editor.watch()
    const reported = test.nextReport()
    writeFileSync(test.path, `${GOOD}    forbiden_paths: [/etc]\n    hiden: true\n`)
    await reported
    expect(test.warnings.slice(1)).toEqual([expect.stringContaining('Did you mean "hidden"?')])
  })
})

describe('a file that cannot be used', () => {
  it('leaves the last valid one in force, and is reported once with line and column', async () => {
    const test = openTestEditor(GOOD)
    test.editor.watch()
    const reported = test.nextReport()
    writeFileSync(test.path, BROKEN)
    await reported
    expect(keysOf(test)).toEqual(['mcp__a__one'])
    expect(test.editor.file.entries[0]?.fields).toEqual({ hidden: true })
    expect(test.editor.unusableReason).toBeUndefined()
    expect(test.editor.issue).toContain(`${test.path}:3:5:`)
    expect(test.warnings).toEqual([expect.stringContaining(`${test.path}:3:5:`)])
    expect(test.events).toEqual([{ type: 'TOOLS_FILE_REJECTED', file: test.path, message: test.editor.issue }])
  })

  it('is no longer reported when the last valid one is put back', async () => {
    const test = openTestEditor(GOOD)
    test.editor.watch()
    const reported = test.nextReport()
    writeFileSync(test.path, BROKEN)
    await reported
    writeFileSync(test.path, GOOD)
    await expect.poll(() => test.editor.issue).toBeUndefined()
    expect(test.events.map(({ type }) => type)).toEqual(['TOOLS_FILE_REJECTED'])
  })

  it.each([
    ['with an error', BROKEN, ':3:5:'],
    ['that is not YAML', 'tools: [', ':1:'],
    ['that is not UTF-8', Buffer.from([0xff, 0xfe, 0x00]), 'UTF-8'],
  ])('%s at the start refuses all calls until it is corrected', async (_what, text, reason) => {
    const folder = scratchFolder()
    const path = join(folder, 'tools.yaml')
    writeFileSync(path, text)
    const test = openTestEditorAt(path)
    expect(test.editor.unusableReason).toContain(reason)
    const reported = test.nextReport()
    test.editor.watch()
    await reported
    expect(test.warnings).toEqual([expect.stringContaining('No tool can be called until it is corrected')])
    expect(test.events).toMatchObject([{ type: 'TOOLS_FILE_REJECTED' }])
    const corrected = test.nextReport()
    writeFileSync(path, GOOD)
    await corrected
    expect([test.editor.unusableReason, test.editor.issue, keysOf(test)]).toEqual([
      undefined,
      undefined,
      ['mcp__a__one'],
    ])
  })

  it.each([
    ['with an error', BROKEN],
    ['that is not YAML', BROKEN.replace('maybe', '[')],
  ])('%s is neither appended to nor changed', async (_what, text) => {
    const test = openTestEditor(text)
    await test.editor.append([newEntry('mcp__b__x')])
    await expect(test.editor.set({ key: 'mcp__a__one', field: 'pin', value: 'sha256-1' })).rejects.toMatchObject({
      code: 'TOOLS_FILE_UNSAFE',
      message: expect.stringMatching(/ is left as it is: .* line 3.*[^.]\.$/),
    })
    expect(readFileSync(test.path, 'utf8')).toBe(text)
    expect(test.editor.notWritten).toEqual([expect.stringContaining('is left as it is')])
  })

  it('is reported once, and not again because entries cannot be written', async () => {
    const test = openTestEditor(BROKEN)
    const reported = test.nextReport()
    test.editor.watch()
    await reported
    await test.editor.append([newEntry('mcp__b__x')])
    expect(test.warnings).toEqual([expect.stringContaining('No tool can be called until it is corrected')])
  })

  it('is not in force if it is not trusted, and appending to it does not bring it into force', async () => {
    const foreign = `${GOOD}  mcp__a__two: {}\n`
    const findTrustProblem = async (bytes: Buffer) => (String(bytes).includes('two') ? 'it is not trusted' : undefined)
    const test = openTestEditor(GOOD, { findTrustProblem })
    writeFileSync(test.path, foreign)
    await test.editor.append([newEntry('mcp__b__x')])
    expect(readFileSync(test.path, 'utf8').startsWith(foreign)).toBe(true)
    expect([keysOf(test), test.editor.issue]).toEqual([['mcp__a__one'], 'it is not trusted'])
  })
})

describe('a file that is removed', () => {
  it('stays in force, is reported, and is not replaced by a new one', async () => {
    const test = openTestEditor(GOOD)
    test.editor.watch()
    const reported = test.nextReport()
    rmSync(test.path)
    await reported
    await test.editor.append([newEntry('mcp__b__x')])
    expect([keysOf(test), existsSync(test.path)]).toEqual([['mcp__a__one'], false])
    expect(test.editor.issue).toContain('removed')
    const again = test.nextReport()
    writeFileSync(test.path, `${GOOD}  mcp__a__two: {}\n`)
    await again
    expect([keysOf(test), test.editor.issue]).toEqual([['mcp__a__one', 'mcp__a__two'], undefined])
  })

  it('is created by the first append if there never was one', async () => {
    const test = openTestEditor(undefined)
    await test.editor.append([newEntry('mcp__b__x')])
    expect([keysOf(test), readdirSync(test.folder)]).toEqual([['mcp__b__x'], ['tools.yaml']])
  })
})

describe('appending', () => {
  it('by several editors at once loses no entry and writes none twice', async () => {
    const { path } = openTestEditor(GOOD)
    const editors = Array.from({ length: 4 }, () => openTestEditorAt(path))
    const names = Array.from({ length: 30 }, (_, at) => `mcp__b__t${at}`)
    await Promise.all(editors.flatMap(({ editor }) => names.map((name) => editor.append([newEntry(name)]))))
    const text = readFileSync(path, 'utf8')
    expect(text.startsWith(GOOD)).toBe(true)
    expect(Object.keys(parse(text).tools).sort()).toEqual(['mcp__a__one', ...names].sort())
    for (const test of editors) expect(keysOf(test)).toHaveLength(31)
    expect(readdirSync(join(path, '..'))).toEqual(['tools.yaml'])
  })

  it('never loses what a person saves at the same time', async () => {
    const test = openTestEditor(GOOD)
    const isWriting = (): boolean => readdirSync(test.folder).some((name) => name.endsWith('.sallyport-tmp'))
    for (let round = 0; round < 10; round++) {
      const appended = test.editor.append([newEntry(`mcp__b__t${round}`)])
      // At this point it has read the file and is about to replace it.
      while (!isWriting()) await new Promise((resolve) => setImmediate(resolve))
      const saved = readFileSync(test.path, 'utf8').replace('# mine', `# mine, saved ${round}`)
      writeFileSync(`${test.path}.edit`, saved)
      renameSync(`${test.path}.edit`, test.path)
      await appended
      const text = readFileSync(test.path, 'utf8')
      expect(text).toContain(`# mine, saved ${round}`)
      expect(text).toContain(`mcp__b__t${round}:`)
    }
  })

  it('distinguishes new entries from changes of a person that were not read yet', async () => {
    const test = openTestEditor(GOOD)
    await test.editor.append([newEntry('mcp__b__x')])
    const edited = readFileSync(test.path, 'utf8').replace('tools:\n', 'tools:\n  mcp__a__two: {}\n')
    writeFileSync(test.path, edited)
    await test.editor.append([newEntry('mcp__b__y')])
    await test.editor.set({ key: 'mcp__a__one', field: 'hidden', value: false })
    expect(test.changes).toEqual(['entries', 'rules', 'rules'])
  })

  it('preserves the permissions and the link of the file', async () => {
    const [here, there] = [scratchFolder(), scratchFolder()]
    writeFileSync(join(there, 'real.yaml'), GOOD)
    chmodSync(join(there, 'real.yaml'), 0o640)
    symlinkSync(join(there, 'real.yaml'), join(here, 'tools.yaml'))
    await openTestEditorAt(join(here, 'tools.yaml')).editor.append([newEntry('mcp__b__x')])
    expect(lstatSync(join(here, 'tools.yaml')).isSymbolicLink()).toBe(true)
    expect(statSync(join(there, 'real.yaml')).mode & 0o777).toBe(0o640)
    expect(readFileSync(join(there, 'real.yaml'), 'utf8')).toContain('mcp__b__x')
  })

  it('is refused and reported if the file would become too large', async () => {
    const large = `${GOOD}# ${'x'.repeat(16 * 1024 ** 2 - GOOD.length - 10)}\n`
    const test = openTestEditor(large)
    await test.editor.append([newEntry('mcp__b__x')])
    expect(readFileSync(test.path, 'utf8')).toBe(large)
    expect(test.editor.notWritten).toEqual([expect.stringContaining('larger than the largest file that is read')])
  })

  it('is refused and reported if the path is not a regular file', async () => {
    const test = openTestEditor(undefined)
    mkdirSync(test.path)
    await test.editor.append([newEntry('mcp__b__x')])
    expect(test.editor.notWritten).toHaveLength(1)
  })

  it('is refused and reported if the lock cannot be created', async () => {
    const test = openTestEditor(GOOD)
    mkdirSync(join(test.folder, '.tools.yaml.lock'))
    utimesSync(join(test.folder, '.tools.yaml.lock'), 0, 0)
    await test.editor.append([newEntry('mcp__b__x')])
    expect(test.editor.notWritten).toHaveLength(1)
    expect(test.warnings).toEqual([expect.stringContaining('New tools are not written to tools.yaml')])
  })
})

it('up to a hundred tools that cannot be written are reported in short messages, and then once that there are more', async () => {
  const test = openTestEditor(GOOD)
  for (let server = 0; server < 3; server++) {
    const names = Array.from({ length: 90 }, (_, at) => `mcp__b__${server}_${at}_${'x'.repeat(2_000)}`)
    for (let times = 0; times < 2; times++) await test.editor.append(names.map(newEntry))
    expect(test.editor.notWritten).toHaveLength(90)
  }
  expect(test.warnings).toHaveLength(101)
  expect(test.warnings.at(-1)).toMatch(/There are more/)
  expect(Math.max(...test.warnings.map(({ length }) => length))).toBeLessThan(600)
  await test.editor.append([newEntry('mcp__b__short')])
  await test.editor.append([newEntry(`mcp__b__${'y'.repeat(2_000)}`)])
  expect(test.warnings).toHaveLength(102)
})

it('temporary files of a killed writer are removed at the next start', async () => {
  const test = openTestEditor(GOOD)
  const [lock, temporary] = ['.tools.yaml.lock', '.tools.yaml.4194999-0123456789ab.sallyport-tmp']
  for (const name of [lock, temporary]) writeFileSync(join(test.folder, name), 'left')
  utimesSync(join(test.folder, lock), 0, 0)
  test.editor.watch()
  await test.editor.close()
  expect(readdirSync(test.folder)).toEqual(['tools.yaml'])
})
