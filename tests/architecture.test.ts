import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkLayers, LEVELS, ROOMS } from '../lint/layers.mjs'
import { filesBelow, ROOT, textOf } from './repository.ts'

const GATEWAY = 'packages/gateway/src'
const NAMES: readonly string[] = LEVELS.flat()
const KIT = 'packages/kit/src'
const KIT_ROOMS = foldersOf(KIT)

interface Trial {
  readonly says: string
  readonly file: string
  readonly source: string
  /** The diagnostic that has to come; nothing when the source keeps the rules. */
  readonly rule: string | undefined
}

const RESTRICTED = 'layers'
const imports = (...sources: readonly string[]): string => sources.map((source) => `import '${source}'\n`).join('')

function trial(says: string, file: string, options: { readonly source: string; readonly rule?: string }): Trial {
  return { says, file, source: options.source, rule: options.rule }
}

const refused = (file: string, source: string): Trial =>
  trial(`${file} may not import ${source}`, file, { source: imports(source), rule: RESTRICTED })

/** Each room against every other one: below by the door, not past it; above and beside not at all. */
const BETWEEN_ROOMS: readonly Trial[] = LEVELS.flatMap((level, height) =>
  level.flatMap((room) => {
    const below = LEVELS.slice(0, height).flat()
    const others = NAMES.filter((other) => other !== room && !below.some((name) => name === other))
    const file = `${GATEWAY}/${room}/probe.ts`
    const doors = below.map((name) => `../${name}/${name}.ts`)
    return [
      trial(`${room} enters what is below it by the door`, file, {
        source: imports(...doors, './own.ts', 'node:path'),
      }),
      ...below.map((name) => refused(file, `../${name}/inner.ts`)),
      ...[...others, 'cli'].map((name) => refused(file, `../${name}/${name}.ts`)),
      refused(file, '../gateway.ts'),
      refused(file, './../version.ts'),
    ]
  }),
)

const PACKAGES: readonly Trial[] = [
  ...['node:fs', 'fs', 'zod', '@sallyport/kit', 'sallyport', '../../kit/src/index.ts'].map((source) =>
    refused('packages/core/src/probe.ts', source),
  ),
  ...['sallyport', 'zod', '../../gateway/src/index.ts', '../../core/src/errors.ts'].map((source) =>
    refused('packages/kit/src/probe.ts', source),
  ),
  // Connectors say what is private, and know nothing of MCP.
  ...['../mcp-server.ts', '../identity/owner-folder.ts', 'jose'].map((source) =>
    refused('packages/kit/src/private-data/probe.ts', source),
  ),
  ...['../private-data/label-store.ts', '@modelcontextprotocol/client'].map((source) =>
    refused('packages/kit/src/testing/probe.ts', source),
  ),
  trial('the kit enters its rooms by their doors', 'packages/kit/src/probe.ts', {
    source: imports('./identity/identity.ts', './config/config.ts'),
  }),
  refused('packages/kit/src/probe.ts', './identity/jwt-verifier.ts'),
  refused('packages/kit/src/identity/probe.ts', '../mcp-server.ts'),
  refused('packages/kit/src/identity/probe.ts', 'yaml'),
  refused('packages/kit/src/config/probe.ts', '../identity/jwt-verifier.ts'),
  trial('sessions verifies tokens as the kit does', `${GATEWAY}/sessions/probe.ts`, {
    source: imports('@sallyport/kit/identity'),
  }),
  refused(`${GATEWAY}/sessions/probe.ts`, '@sallyport/kit'),
  ...['node:fs', '@sallyport/kit', '../../../kit/src/index.ts'].map((source) =>
    refused('packages/core/src/shaping/probe.ts', source),
  ),
  refused('packages/core/src/probe.ts', './shaping/shape-text.ts'),
  refused('packages/core/src/probe.ts', './json/json-scanner.ts'),
  refused('packages/core/src/shaping/probe.ts', '../json/json-walk.ts'),
  refused('packages/core/src/json/probe.ts', 'node:fs'),
  refused('packages/kit/src/probe.ts', './results/result-shelf.ts'),
  refused('packages/kit/src/results/probe.ts', '../protocol/protocol.ts'),
  refused('packages/kit/src/schema/probe.ts', 'node:fs'),
  refused('packages/kit/src/call/probe.ts', '../offers/offers.ts'),
  refused('packages/kit/src/offers/probe.ts', '../protocol/protocol.ts'),
  refused('packages/kit/src/protocol/probe.ts', '../mcp-server.ts'),
  refused('packages/kit/src/http/probe.ts', '../protocol/connection.ts'),
  refused('packages/web/src/probe.ts', '../../gateway/src/gateway.ts'),
  trial('web may not run code of the gateway', 'packages/web/src/probe.ts', {
    source: "import { createApi } from '../../gateway/src/serve/api/api.ts'\ncreateApi()\n",
    rule: 'plugin',
  }),
  trial('web may not load code of the gateway', 'packages/web/src/probe.ts', {
    source: "await import('../../gateway/src/serve/api/api.ts')\n",
    rule: 'plugin',
  }),
  trial('web may take its types', 'packages/web/src/probe.ts', {
    source: "import type { Api } from '../../gateway/src/serve/api/api.ts'\nexport type Mine = Api\n",
  }),
]

/** The path of a call carries no schema library and no web-standard requests: this part of `GW-22`. */
const DEPENDENCIES: readonly Trial[] = [
  ...['hono', '@hono/node-server', 'zod'].map((source) => refused(`${GATEWAY}/serve/probe.ts`, source)),
  ...['hono', 'zod', 'jose'].map((source) => refused(`${GATEWAY}/pipeline/probe.ts`, source)),
  ...['zod', 'hono'].map((source) => refused(`${GATEWAY}/upstream/probe.ts`, source)),
  refused(`${GATEWAY}/config/probe.ts`, 'zod'),
  trial('serve/api may use hono and zod', `${GATEWAY}/serve/api/probe.ts`, {
    source: imports('hono', '@hono/zod-openapi', '../../pipeline/pipeline.ts', '../problem.ts'),
  }),
  refused(`${GATEWAY}/serve/api/probe.ts`, '../../pipeline/record.ts'),
  refused(`${GATEWAY}/serve/api/probe.ts`, '../../cli/screen.ts'),
]

/** The folders inside `upstream` are rooms too. */
const TRANSPORTS: readonly Trial[] = [
  trial('upstream enters its folders by their doors', `${GATEWAY}/upstream/probe.ts`, {
    source: imports('./stdio/stdio.ts', './http/http.ts', './processes/processes.ts', './built-in/built-in.ts'),
  }),
  refused(`${GATEWAY}/upstream/probe.ts`, './stdio/line-framer.ts'),
  refused(`${GATEWAY}/upstream/probe.ts`, './processes/watchdog.ts'),
  refused(`${GATEWAY}/upstream/processes/probe.ts`, '../transport.ts'),
  refused(`${GATEWAY}/upstream/stdio/probe.ts`, '../link.ts'),
  refused(`${GATEWAY}/upstream/stdio/probe.ts`, '../http/http.ts'),
  refused(`${GATEWAY}/upstream/stdio/probe.ts`, '../processes/watchdog.ts'),
  refused(`${GATEWAY}/upstream/http/probe.ts`, '../processes/processes.ts'),
  refused(`${GATEWAY}/upstream/docker/probe.ts`, '../link.ts'),
  refused(`${GATEWAY}/upstream/docker/probe.ts`, '../stdio/stdio-transport.ts'),
  refused(`${GATEWAY}/upstream/built-in/probe.ts`, '../shared-upstream.ts'),
]

/** So are those inside `agents`: each is one agent, and knows no other. */
const AGENTS: readonly Trial[] = [
  trial('agents takes its adapters', `${GATEWAY}/agents/probe.ts`, { source: imports('./codex/codex.ts') }),
  refused(`${GATEWAY}/agents/codex/probe.ts`, '../amp/amp.ts'),
  refused(`${GATEWAY}/agents/codex/probe.ts`, '../../upstream/upstream.ts'),
  refused(`${GATEWAY}/agents/codex/probe.ts`, '../../config/schema.ts'),
]

const COMPOSITION: readonly Trial[] = [
  trial('the composition enters every room', `${GATEWAY}/probe.ts`, {
    source: imports(...NAMES.map((room) => `./${room}/${room}.ts`)),
  }),
  refused(`${GATEWAY}/probe.ts`, './cli/main.ts'),
  refused(`${GATEWAY}/probe.ts`, './serve/methods.ts'),
  trial('the cli has its light ways in', `${GATEWAY}/cli/probe.ts`, {
    source: imports(
      '@sallyport/kit/line-reader',
      '../serve/gateway-socket.ts',
      '../serve/problem.ts',
      '../serve/api/api.ts',
      '../gateway.ts',
    ),
  }),
  refused(`${GATEWAY}/cli/probe.ts`, '../serve/methods.ts'),
  refused(`${GATEWAY}/cli/probe.ts`, '@sallyport/kit'),
  refused(`${GATEWAY}/cli/commands/probe.ts`, '../../store/event-log.ts'),
  trial('tests may look inside a room', `${GATEWAY}/serve/probe.test.ts`, { source: imports('../store/event-log.ts') }),
]

const lines = (count: number, line: string): string => `${line}\n`.repeat(count)

const HABITS: readonly Trial[] = [
  trial('a file may not have more than 500 lines', 'packages/core/src/long.ts', {
    source: `let n = 0\n${lines(500, 'n += 1')}export const total = n\n`,
    rule: 'lint/style/noExcessiveLinesPerFile',
  }),
  trial('a test may', 'packages/core/src/long.test.ts', {
    source: `let n = 0\n${lines(500, 'n += 1')}export const total = n\n`,
  }),
  trial('but not more than 600', 'packages/core/src/longer.test.ts', {
    source: `let n = 0\n${lines(600, 'n += 1')}export const total = n\n`,
    rule: 'lint/style/noExcessiveLinesPerFile',
  }),
  trial('a function may not have more than 60 lines', 'packages/core/src/deep.ts', {
    source: `export function deep(): number {\n  let n = 0\n${lines(60, '  n += 1')}  return n\n}\n`,
    rule: 'lint/complexity/noExcessiveLinesPerFunction',
  }),
  trial('a function may not have more than three parameters', 'packages/core/src/wide.ts', {
    source: 'export const wide = (a: number, b: number, c: number, d: number): number => a + b + c + d\n',
    rule: 'lint/complexity/useMaxParams',
  }),
  trial('a promise may not float', 'packages/core/src/floating.ts', {
    source: 'async function work(): Promise<void> {\n  await 1\n}\nexport function start(): void {\n  work()\n}\n',
    rule: 'lint/nursery/noFloatingPromises',
  }),
  trial('what was caught may not be dropped', 'packages/core/src/dropped.ts', {
    source:
      "import { SallyportError } from './errors.ts'\nexport function read(look: () => void): void {\n  try {\n    look()\n  } catch {\n    throw new SallyportError('USAGE', 'It failed.', { hint: 'Try.' })\n  }\n}\n",
    rule: 'plugin',
  }),
  trial('what was caught may be handed on', 'packages/core/src/kept.ts', {
    source:
      "import { SallyportError } from './errors.ts'\nexport function read(look: () => void): void {\n  try {\n    look()\n  } catch (cause) {\n    throw new SallyportError('USAGE', 'It failed.', { cause })\n  }\n}\n",
  }),
  trial('files may not import each other in a circle', 'packages/core/src/ring-a.ts', {
    source: "import { b } from './ring-b.ts'\nexport const a = (): number => b()\n",
    rule: 'lint/suspicious/noImportCycles',
  }),
  trial('nor from the other side', 'packages/core/src/ring-b.ts', {
    source: "import { a } from './ring-a.ts'\nexport const b = (): number => a()\n",
    rule: 'lint/suspicious/noImportCycles',
  }),
  trial('a barrel may not export everything', 'packages/core/src/barrel.ts', {
    source: "export * from './errors.ts'\n",
    rule: 'lint/performance/noReExportAll',
  }),
  trial('an import carries its extension', 'packages/core/src/bare.ts', {
    source: "import './ring-a'\n",
    rule: 'lint/correctness/useImportExtensions',
  }),
  trial('a file has a kebab-case name', 'packages/core/src/camelCase.ts', {
    source: 'export const a = 1\n',
    rule: 'lint/style/useFilenamingConvention',
  }),
  trial('the environment comes in as an argument', 'packages/kit/src/environment.ts', {
    source: "import process from 'node:process'\nexport const home = process.env.HOME\n",
    rule: 'lint/style/noProcessEnv',
  }),
  trial('nobody writes to standard output by the way', 'packages/kit/src/chatty.ts', {
    source: "console.log('hello')\n",
    rule: 'lint/suspicious/noConsole',
  }),
  trial('a test may not be skipped', 'packages/core/src/skipped.test.ts', {
    source: "import { it } from 'vitest'\nit.skip('later', () => undefined)\n",
    rule: 'lint/suspicious/noSkippedTests',
  }),
]

const TRIALS = [...BETWEEN_ROOMS, ...PACKAGES, ...DEPENDENCIES, ...TRANSPORTS, ...AGENTS, ...COMPOSITION, ...HABITS]

describe('the linter', () => {
  let copy: string
  let diagnostics: ReadonlyMap<Trial, readonly string[]>

  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'sallyport-rules-'))
    diagnostics = judge(copy)
  })
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it.each(TRIALS.filter(({ rule }) => rule !== undefined))('refuses: $says', (one) => {
    expect(diagnostics.get(one)).toContain(one.rule)
  })

  it.each(TRIALS.filter(({ rule }) => rule === undefined))('allows: $says', (one) => {
    expect(diagnostics.get(one)).toEqual([])
  })
})

/** Sets every trial up under the repository's own configuration, each in a tree of its own so that they can share names. */
function judge(copy: string): ReadonlyMap<Trial, readonly string[]> {
  const found = new Map<Trial, string[]>()
  // Trials of one file name cannot stand in one tree; those of different names can, and a run costs a second.
  const rounds: Trial[][] = []
  for (const one of TRIALS) {
    const round = rounds.find((trials) => trials.every(({ file }) => file !== one.file))
    if (round) round.push(one)
    else rounds.push([one])
    found.set(one, [])
  }
  for (const [number, trials] of rounds.entries()) {
    const root = join(copy, String(number))
    setUp(root, trials)
    for (const [file, rule] of lint(root)) found.get(trials.find((one) => one.file === file) as Trial)?.push(rule)
  }
  return found
}

function setUp(root: string, trials: readonly Trial[]): void {
  mkdirSync(root, { recursive: true })
  for (const path of ['biome.json', '.gitignore', 'lint', 'package.json'])
    cpSync(join(ROOT, path), join(root, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  for (const name of ['core', 'kit', 'gateway', 'web']) {
    mkdirSync(join(root, 'packages', name), { recursive: true })
    cpSync(join(ROOT, 'packages', name, 'package.json'), join(root, 'packages', name, 'package.json'))
  }
  for (const { file, source } of trials) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), source)
  }
}

function foldersOf(path: string): readonly string[] {
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/** The file and the rule of each diagnostic about a source. */
function lint(root: string): readonly (readonly [string, string])[] {
  const biome = join(ROOT, 'node_modules', '.bin', 'biome')
  const { stdout, stderr } = spawnSync(
    biome,
    ['lint', '--reporter=concise', '--max-diagnostics=none', '--colors=off', 'packages'],
    { cwd: root, encoding: 'utf8' },
  )
  const reports = `${stdout}\n${stderr}`.matchAll(/^[×!i] (packages\/[^\s:]+)(?::\d+:\d+)?: ([\w/]+):/gm)
  const habits = [...reports].map(([, file = '', rule = '']) => [file, rule] as const)
  return [...habits, ...checkLayers(root).map(({ file }) => [file, RESTRICTED] as const)]
}

describe('the rooms', () => {
  const folders = foldersOf(GATEWAY)

  it('are the folders of the gateway', () => {
    expect(folders).toEqual([...NAMES, 'cli'].sort())
  })

  it('are each in the table of layers', () => {
    expect(folders.filter((room) => ROOMS[`${GATEWAY}/${room}`] === undefined)).toEqual([])
  })

  it('are each named in the tree of ARCHITECTURE.md, and no others are', () => {
    const tree = /```\n(packages\/[\s\S]*?)```/.exec(textOf('ARCHITECTURE.md'))?.[1] ?? ''
    const named = [...tree.matchAll(/^ {4}([a-z]+)\/ /gm)].map(([, name]) => name)
    expect(named.sort()).toEqual(folders)
  })

  it.each(NAMES)('%s has a door of its name', (room) => {
    expect(existsSync(join(ROOT, GATEWAY, room, `${room}.ts`))).toBe(true)
  })

  it.each(KIT_ROOMS)('of the kit: %s has a door of its name, and is in the table of layers', (room) => {
    expect(existsSync(join(ROOT, KIT, room, `${room}.ts`))).toBe(true)
    expect(ROOMS[`${KIT}/${room}`]).toBeDefined()
  })

  it('import nothing that the table does not allow', () => {
    expect(checkLayers(ROOT)).toEqual([])
  })

  it.each([...NAMES, 'cli'])('%s says in at most 45 lines what it assumes, chose and rejected', (room) => {
    expect(textOf(`${GATEWAY}/${room}/README.md`).trimEnd().split('\n').length).toBeLessThanOrEqual(45)
  })
})

describe('the files', () => {
  const sources = filesBelow('packages').filter((path) => /\/src\/.*\.ts$/.test(path))

  it('are no drawers', () => {
    const drawer = /^(utils?|common|shared|helpers?|types|misc)(\.|$)/
    expect(sources.filter((path) => path.split('/').some((part) => drawer.test(part)))).toEqual([])
  })

  it('hold one index.ts per package at most', () => {
    const indexes = sources.filter((path) => basename(path) === 'index.ts')
    expect(indexes.filter((path) => !/^packages\/\w+\/src\/index\.ts$/.test(path))).toEqual([])
  })

  it('hold no notes to self', () => {
    expect(sources.filter((path) => /\b(TODO|FIXME|XXX|HACK)\b/.test(textOf(path)))).toEqual([])
  })

  it('name nothing a manager, a service or a helper', () => {
    const named = /\b(?:class|interface|type|function|const) \w*(?:Manager|Service|Helper|Impl|Utils?|Base)\b/
    expect(sources.filter((path) => named.test(textOf(path)))).toEqual([])
  })
})

/** What hands a message to a server: bytes to a socket or a stdin, or a message to a connection in this process. */
const WRITES = /\.(?:write|writev|_write|receive|pipe|pipeline)\(|(?:socket|stdin)\w*\??\.end\([^)]/i

/** Every line below `upstream` that does, with how often. Whoever adds one says here how it comes by its permit. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  // Each of them is reached through `usePermit` alone.
  'http/client-connection.ts': [
    "if (Buffer.byteLength(body) === body.length) this.#socket.write(head + body, 'latin1')",
    "this.#socket.write(head, 'latin1')",
    'this.#socket.write(body)',
  ],
  'stdio/outbox.ts': [
    "if (batch !== '') stdin.write(batch)",
    "if (this.#isFlushing) stdin.write('', (error) => error ?? this.#flush())",
  ],
  // The watchdog is a process of ours and no server.
  'processes/watchdog.ts': ["child.stdin?.end('.\\n')", 'if (pipe?.writable) pipe.write(line)'],
  'built-in/in-process-transport.ts': ['queueMicrotask(() => connection.receive(JSON.parse(text)))'],
}

describe('what leaves for a server', () => {
  const upstream = `${GATEWAY}/upstream`
  const sources = filesBelow(upstream).filter((path) => path.endsWith('.ts') && !/\.test(?:-kit)?\.ts$/.test(path))
  const linesOf = (path: string): readonly string[] =>
    textOf(path)
      .split('\n')
      .map((line) => line.trim())

  it('leaves in these lines and in no others', () => {
    const found = sources.flatMap((path) => {
      const lines = linesOf(path).filter((line) => WRITES.test(line) && !line.startsWith('*'))
      return lines.length > 0 ? [[path.slice(upstream.length + 1), lines] as const] : []
    })
    expect(Object.fromEntries(found)).toEqual(WRITERS)
  })

  it.each([
    {
      file: 'http/client-connection.ts',
      check: 'if (usePermit(sending.permit)) this.#transmit(sending.wire)',
      sending: /#(?:transmit|writeBoth)\(/,
      senders: ['if (usePermit(sending.permit)) this.#transmit(sending.wire)', 'else this.#writeBoth(head, body)'],
    },
    {
      file: 'stdio/outbox.ts',
      check: 'if (usePermit(message.call.permit)) {',
      sending: /batch \+=|#takeBatch\(\)(?!:)/,
      senders: ['const batch = this.#takeBatch()', `batch += \`\${message.text}\\n\``],
    },
    {
      file: 'built-in/in-process-transport.ts',
      check: 'if (usePermit(request.call.permit)) return this.#transmit(request)',
      sending: /#transmit\(/,
      senders: ['if (usePermit(request.call.permit)) return this.#transmit(request)'],
    },
  ])('asks for the permit first, in $file', ({ file, check, sending, senders }) => {
    const lines = linesOf(`${upstream}/${file}`)
    expect(lines).toContain(check)
    // What is sent is sent behind that check: nobody else gets there.
    const calls = lines.filter((line) => sending.test(line) && !/^#(?:transmit|writeBoth)\(.*\{$/.test(line))
    expect(calls).toEqual(senders)
  })

  it('has a permit of its own only where the gateway itself speaks', () => {
    const users = sources
      .filter((path) => /\bOWN_MESSAGE\b/.test(textOf(path)))
      .map((path) => path.slice(upstream.length + 1))
    expect(users.toSorted()).toEqual(['http/http-exchange.ts', 'link.ts', 'permit.ts', 'stdio/outbox.ts'])
  })
})
