import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkLayers, LEVELS, ROOMS } from '../lint/layers.mjs'
import { filesBelow, ROOT, textOf } from './harness/repository.ts'

const GATEWAY = 'packages/gateway/src'
const NAMES: readonly string[] = LEVELS.flat()
const KIT = 'packages/kit/src'
const KIT_ROOMS = foldersOf(KIT)

interface Probe {
  readonly title: string
  readonly file: string
  readonly source: string
  /** The expected diagnostic; `undefined` if the source follows the rules. */
  readonly rule: string | undefined
}

const RESTRICTED = 'layers'
const imports = (...sources: readonly string[]): string => sources.map((source) => `import '${source}'\n`).join('')

function probe(title: string, file: string, options: { readonly source: string; readonly rule?: string }): Probe {
  return { title, file, source: options.source, rule: options.rule }
}

const refused = (file: string, source: string): Probe =>
  probe(`${file} may not import ${source}`, file, { source: imports(source), rule: RESTRICTED })

/** Each room and every other one: a room imports only doors, and only those of lower levels. */
const BETWEEN_ROOMS: readonly Probe[] = LEVELS.flatMap((level, height) =>
  level.flatMap((room) => {
    const below = LEVELS.slice(0, height).flat()
    const others = NAMES.filter((other) => other !== room && !below.some((name) => name === other))
    const file = `${GATEWAY}/${room}/probe.ts`
    const doors = below.map((name) => `../${name}/${name}.ts`)
    return [
      probe(`${room} imports the rooms below it by their doors`, file, {
        source: imports(...doors, './own.ts', 'node:path'),
      }),
      ...below.map((name) => refused(file, `../${name}/inner.ts`)),
      ...[...others, 'cli'].map((name) => refused(file, `../${name}/${name}.ts`)),
      refused(file, '../compose/gateway.ts'),
      refused(file, './../version.ts'),
    ]
  }),
)

const PACKAGES: readonly Probe[] = [
  ...['node:fs', 'fs', 'zod', '@sallyport/kit', 'sallyport', '../../kit/src/index.ts'].map((source) =>
    refused('packages/core/src/probe.ts', source),
  ),
  ...['sallyport', 'zod', '../../gateway/src/index.ts', '../../core/src/errors.ts'].map((source) =>
    refused('packages/kit/src/probe.ts', source),
  ),
  // Connectors declare what is private, and do not depend on MCP.
  ...['../mcp-server.ts', '../identity/owner-folder.ts', 'jose'].map((source) =>
    refused('packages/kit/src/private-data/probe.ts', source),
  ),
  ...['../private-data/label-store.ts', '@modelcontextprotocol/client'].map((source) =>
    refused('packages/kit/src/testing/probe.ts', source),
  ),
  probe('the kit imports its rooms by their doors', 'packages/kit/src/probe.ts', {
    source: imports('./identity/identity.ts', './config/config.ts'),
  }),
  refused('packages/kit/src/probe.ts', './identity/jwt-verifier.ts'),
  refused('packages/kit/src/identity/probe.ts', '../mcp-server.ts'),
  refused('packages/kit/src/identity/probe.ts', 'yaml'),
  refused('packages/kit/src/config/probe.ts', '../identity/jwt-verifier.ts'),
  probe('sessions uses the token verification of the kit', `${GATEWAY}/sessions/probe.ts`, {
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
  refused('packages/kit/src/probe.ts', './results/result-store.ts'),
  refused('packages/kit/src/results/probe.ts', '../protocol/protocol.ts'),
  refused('packages/kit/src/schema/probe.ts', 'node:fs'),
  refused('packages/kit/src/call/probe.ts', '../offers/offers.ts'),
  refused('packages/kit/src/offers/probe.ts', '../protocol/protocol.ts'),
  refused('packages/kit/src/protocol/probe.ts', '../mcp-server.ts'),
  refused('packages/kit/src/http/probe.ts', '../protocol/connection.ts'),
  refused('packages/web/src/probe.ts', '../../gateway/src/gateway.ts'),
  probe('web may not run code of the gateway', 'packages/web/src/probe.ts', {
    source: "import { createApi } from '../../gateway/src/serve/api/api.ts'\ncreateApi()\n",
    rule: 'plugin',
  }),
  probe('web may not load code of the gateway', 'packages/web/src/probe.ts', {
    source: "await import('../../gateway/src/serve/api/api.ts')\n",
    rule: 'plugin',
  }),
  probe('web may import types of the gateway', 'packages/web/src/probe.ts', {
    source: "import type { Api } from '../../gateway/src/serve/api/api.ts'\nexport type Mine = Api\n",
  }),
]

/** No schema library and no web-standard requests on the path of a call: this is a part of `GW-22`. */
const DEPENDENCIES: readonly Probe[] = [
  ...['hono', '@hono/node-server', 'zod'].map((source) => refused(`${GATEWAY}/serve/probe.ts`, source)),
  ...['hono', 'zod', 'jose'].map((source) => refused(`${GATEWAY}/pipeline/probe.ts`, source)),
  ...['zod', 'hono'].map((source) => refused(`${GATEWAY}/upstream/probe.ts`, source)),
  refused(`${GATEWAY}/config/probe.ts`, 'zod'),
  probe('serve/api may use hono and zod', `${GATEWAY}/serve/api/probe.ts`, {
    source: imports('hono', '@hono/zod-openapi', '../../pipeline/pipeline.ts', '../problem.ts'),
  }),
  refused(`${GATEWAY}/serve/api/probe.ts`, '../../pipeline/record.ts'),
  refused(`${GATEWAY}/serve/api/probe.ts`, '../../cli/terminal/screen.ts'),
]

/** The folders inside `upstream` are rooms too. */
const TRANSPORTS: readonly Probe[] = [
  probe('upstream imports its folders by their doors', `${GATEWAY}/upstream/probe.ts`, {
    source: imports('./stdio/stdio.ts', './http/http.ts', './processes/processes.ts', './built-in/built-in.ts'),
  }),
  refused(`${GATEWAY}/upstream/probe.ts`, './stdio/line-framer.ts'),
  refused(`${GATEWAY}/upstream/probe.ts`, './processes/watchdog.ts'),
  refused(`${GATEWAY}/upstream/processes/probe.ts`, '../transport.ts'),
  refused(`${GATEWAY}/upstream/stdio/probe.ts`, '../link/link.ts'),
  refused(`${GATEWAY}/upstream/stdio/probe.ts`, '../http/http.ts'),
  refused(`${GATEWAY}/upstream/stdio/probe.ts`, '../processes/watchdog.ts'),
  refused(`${GATEWAY}/upstream/http/probe.ts`, '../processes/processes.ts'),
  refused(`${GATEWAY}/upstream/docker/probe.ts`, '../link/link.ts'),
  refused(`${GATEWAY}/upstream/docker/probe.ts`, '../stdio/stdio-transport.ts'),
  refused(`${GATEWAY}/upstream/built-in/probe.ts`, '../server-connection.ts'),
]

/** So are those inside `agents`: each is one agent, and imports no other. */
const AGENTS: readonly Probe[] = [
  probe('agents imports its adapters', `${GATEWAY}/agents/probe.ts`, { source: imports('./codex/codex.ts') }),
  refused(`${GATEWAY}/agents/codex/probe.ts`, '../amp/amp.ts'),
  refused(`${GATEWAY}/agents/codex/probe.ts`, '../../upstream/upstream.ts'),
  refused(`${GATEWAY}/agents/codex/probe.ts`, '../../config/reading/schema.ts'),
]

const COMPOSITION: readonly Probe[] = [
  probe('the composition imports every room', `${GATEWAY}/compose/probe.ts`, {
    source: imports(...NAMES.map((room) => `../${room}/${room}.ts`)),
  }),
  refused(`${GATEWAY}/compose/probe.ts`, '../cli/main.ts'),
  refused(`${GATEWAY}/compose/probe.ts`, '../serve/rpc/methods.ts'),
  refused(`${GATEWAY}/probe.ts`, './cli/main.ts'),
  probe('the cli may import the few light files of serve', `${GATEWAY}/cli/probe.ts`, {
    source: imports(
      '@sallyport/kit/line-reader',
      '../serve/gateway-socket.ts',
      '../serve/problem.ts',
      '../serve/api/api.ts',
      '../compose/gateway.ts',
    ),
  }),
  refused(`${GATEWAY}/cli/probe.ts`, '../serve/rpc/methods.ts'),
  refused(`${GATEWAY}/cli/probe.ts`, '@sallyport/kit'),
  refused(`${GATEWAY}/cli/commands/probe.ts`, '../../store/event-log.ts'),
  probe('tests may import the inner files of a room', `${GATEWAY}/serve/probe.test.ts`, {
    source: imports('../store/event-log.ts'),
  }),
]

const lines = (count: number, line: string): string => `${line}\n`.repeat(count)

const HABITS: readonly Probe[] = [
  probe('a file may not have more than 500 lines', 'packages/core/src/long.ts', {
    source: `let n = 0\n${lines(500, 'n += 1')}export const total = n\n`,
    rule: 'lint/style/noExcessiveLinesPerFile',
  }),
  probe('a test file may have more than 500 lines', 'packages/core/src/long.test.ts', {
    source: `let n = 0\n${lines(500, 'n += 1')}export const total = n\n`,
  }),
  probe('a test file may not have more than 600 lines', 'packages/core/src/longer.test.ts', {
    source: `let n = 0\n${lines(600, 'n += 1')}export const total = n\n`,
    rule: 'lint/style/noExcessiveLinesPerFile',
  }),
  probe('a function may not have more than 60 lines', 'packages/core/src/deep.ts', {
    source: `export function deep(): number {\n  let n = 0\n${lines(60, '  n += 1')}  return n\n}\n`,
    rule: 'lint/complexity/noExcessiveLinesPerFunction',
  }),
  probe('a function may not have more than three parameters', 'packages/core/src/wide.ts', {
    source: 'export const wide = (a: number, b: number, c: number, d: number): number => a + b + c + d\n',
    rule: 'lint/complexity/useMaxParams',
  }),
  probe('a promise may not float', 'packages/core/src/floating.ts', {
    source: 'async function work(): Promise<void> {\n  await 1\n}\nexport function start(): void {\n  work()\n}\n',
    rule: 'lint/nursery/noFloatingPromises',
  }),
  probe('a new error may not drop the caught one', 'packages/core/src/dropped.ts', {
    source:
      "import { SallyportError } from './errors.ts'\nexport function read(work: () => void): void {\n  try {\n    work()\n  } catch {\n    throw new SallyportError('USAGE', 'It failed.', { hint: 'Try.' })\n  }\n}\n",
    rule: 'plugin',
  }),
  probe('a new error may carry the caught one as its cause', 'packages/core/src/kept.ts', {
    source:
      "import { SallyportError } from './errors.ts'\nexport function read(work: () => void): void {\n  try {\n    work()\n  } catch (cause) {\n    throw new SallyportError('USAGE', 'It failed.', { cause })\n  }\n}\n",
  }),
  probe('files may not import each other in a circle', 'packages/core/src/ring-a.ts', {
    source: "import { b } from './ring-b.ts'\nexport const a = (): number => b()\n",
    rule: 'lint/suspicious/noImportCycles',
  }),
  probe('an import cycle is reported for each of its files', 'packages/core/src/ring-b.ts', {
    source: "import { a } from './ring-a.ts'\nexport const b = (): number => a()\n",
    rule: 'lint/suspicious/noImportCycles',
  }),
  probe('a barrel may not export everything', 'packages/core/src/barrel.ts', {
    source: "export * from './errors.ts'\n",
    rule: 'lint/performance/noReExportAll',
  }),
  probe('an import carries its extension', 'packages/core/src/bare.ts', {
    source: "import './ring-a'\n",
    rule: 'lint/correctness/useImportExtensions',
  }),
  probe('a file has a kebab-case name', 'packages/core/src/camelCase.ts', {
    source: 'export const a = 1\n',
    rule: 'lint/style/useFilenamingConvention',
  }),
  probe('the environment comes in as an argument', 'packages/kit/src/environment.ts', {
    source: "import process from 'node:process'\nexport const home = process.env.HOME\n",
    rule: 'lint/style/noProcessEnv',
  }),
  probe('code does not write to standard output with console.log', 'packages/kit/src/chatty.ts', {
    source: "console.log('hello')\n",
    rule: 'lint/suspicious/noConsole',
  }),
  probe('a test may not be skipped', 'packages/core/src/skipped.test.ts', {
    source: "import { it } from 'vitest'\nit.skip('later', () => undefined)\n",
    rule: 'lint/suspicious/noSkippedTests',
  }),
]

const PROBES = [...BETWEEN_ROOMS, ...PACKAGES, ...DEPENDENCIES, ...TRANSPORTS, ...AGENTS, ...COMPOSITION, ...HABITS]

describe('the linter', () => {
  let copy: string
  let diagnostics: ReadonlyMap<Probe, readonly string[]>

  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'sallyport-rules-'))
    diagnostics = lintProbes(copy)
  })
  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it.each(PROBES.filter(({ rule }) => rule !== undefined))('refuses: $title', (one) => {
    expect(diagnostics.get(one)).toContain(one.rule)
  })

  it.each(PROBES.filter(({ rule }) => rule === undefined))('allows: $title', (one) => {
    expect(diagnostics.get(one)).toEqual([])
  })
})

/** Lints every probe with the configuration of the repository. */
function lintProbes(copy: string): ReadonlyMap<Probe, readonly string[]> {
  const found = new Map<Probe, string[]>()
  // Probes with the same file name need trees of their own. All others share one, since each run takes a second.
  const rounds: Probe[][] = []
  for (const one of PROBES) {
    const round = rounds.find((probes) => probes.every(({ file }) => file !== one.file))
    if (round) round.push(one)
    else rounds.push([one])
    found.set(one, [])
  }
  for (const [number, probes] of rounds.entries()) {
    const root = join(copy, String(number))
    setUp(root, probes)
    for (const [file, rule] of lint(root)) found.get(probes.find((one) => one.file === file) as Probe)?.push(rule)
  }
  return found
}

function setUp(root: string, probes: readonly Probe[]): void {
  mkdirSync(root, { recursive: true })
  for (const path of ['biome.json', '.gitignore', 'lint', 'package.json'])
    cpSync(join(ROOT, path), join(root, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  for (const name of ['core', 'kit', 'gateway', 'web']) {
    mkdirSync(join(root, 'packages', name), { recursive: true })
    cpSync(join(ROOT, 'packages', name, 'package.json'), join(root, 'packages', name, 'package.json'))
  }
  for (const { file, source } of probes) {
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

  it('are the folders of the gateway, besides `compose`', () => {
    expect(folders).toEqual([...NAMES, 'cli', 'compose'].sort())
  })

  it('are each in the table of layers', () => {
    // `compose` belongs to the room around it: the root of the package may import every door.
    const rooms = folders.filter((folder) => folder !== 'compose')
    expect(rooms.filter((room) => ROOMS[`${GATEWAY}/${room}`] === undefined)).toEqual([])
  })

  it('are the folders in the tree of ARCHITECTURE.md', () => {
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

  it('import only what the table allows', () => {
    expect(checkLayers(ROOT)).toEqual([])
  })

  it.each([...NAMES, 'cli', 'compose'])('%s has a README of at most 90 lines', (room) => {
    expect(textOf(`${GATEWAY}/${room}/README.md`).trimEnd().split('\n').length).toBeLessThanOrEqual(90)
  })

  it.each([...NAMES, 'cli', 'compose'])('%s has a README that names each of its files or sub-rooms', (room) => {
    const readme = textOf(`${GATEWAY}/${room}/README.md`)
    const entries = readdirSync(join(ROOT, GATEWAY, room), { withFileTypes: true })
    const names = entries
      .filter((entry) => entry.isDirectory() || (entry.name.endsWith('.ts') && !entry.name.includes('.test')))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    const unnamed = names.filter((name) => name !== `${room}.ts` && !readme.includes(name))
    // Each folder of an agent is named by the table of adapters, not one by one.
    expect(room === 'agents' ? unnamed.filter((name) => !name.endsWith('/')) : unnamed).toEqual([])
  })

  it('have at most 30 files side by side', () => {
    const files = [...filesBelow('packages'), ...filesBelow('tests')].filter(
      (path) => /^(packages\/\w+\/src|tests)\/.*\.tsx?$/.test(path) && !/^packages.*\.test(-kit)?\./.test(path),
    )
    const perFolder = new Map<string, number>()
    for (const path of files) perFolder.set(dirname(path), (perFolder.get(dirname(path)) ?? 0) + 1)
    expect([...perFolder].filter(([, count]) => count > 30)).toEqual([])
    expect(files.length).toBeGreaterThan(500)
  })
})

describe('the files', () => {
  const sources = filesBelow('packages').filter((path) => /\/src\/.*\.ts$/.test(path))

  it('have no names like `utils` or `common`', () => {
    const drawer = /^(utils?|common|shared|helpers?|types|misc)(\.|$)/
    expect(sources.filter((path) => path.split('/').some((part) => drawer.test(part)))).toEqual([])
  })

  it('include at most one index.ts per package', () => {
    const indexes = sources.filter((path) => basename(path) === 'index.ts')
    expect(indexes.filter((path) => !/^packages\/\w+\/src\/index\.ts$/.test(path))).toEqual([])
  })

  it('contain no TODO comments', () => {
    expect(sources.filter((path) => /\b(TODO|FIXME|XXX|HACK)\b/.test(textOf(path)))).toEqual([])
  })

  it('name nothing a manager, a service or a helper', () => {
    const named = /\b(?:class|interface|type|function|const) \w*(?:Manager|Service|Helper|Impl|Utils?|Base)\b/
    expect(sources.filter((path) => named.test(textOf(path)))).toEqual([])
  })
})

/** Sends a message to a server: writes bytes to a socket or stdin, or passes a message to a connection in this process. */
const WRITES = /\.(?:write|writev|_write|receive|pipe|pipeline)\(|(?:socket|stdin)\w*\??\.end\([^)]/i

/** Every line below `upstream` that sends. Whoever adds one explains here how it gets its permit. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  // Each of them is reached only through `usePermit`.
  'http/client-connection.ts': [
    "if (Buffer.byteLength(body) === body.length) this.#socket.write(head + body, 'latin1')",
    "this.#socket.write(head, 'latin1')",
    'this.#socket.write(body)',
  ],
  'stdio/stdio-transport.ts': [
    "if (batch !== '') stdin.write(batch)",
    "if (this.#isFlushing) stdin.write('', (error) => error ?? this.#flush())",
  ],
  // The watchdog is our own process, not a server.
  'processes/watchdog.ts': ["child.stdin?.end('.\\n')", 'if (pipe?.writable) pipe.write(line)'],
  'built-in/in-process-transport.ts': ['queueMicrotask(() => connection.receive(JSON.parse(text)))'],
}

describe('what is sent to a server', () => {
  const upstream = `${GATEWAY}/upstream`
  const sources = filesBelow(upstream).filter((path) => path.endsWith('.ts') && !/\.test(?:-kit)?\.ts$/.test(path))
  const linesOf = (path: string): readonly string[] =>
    textOf(path)
      .split('\n')
      .map((line) => line.trim())

  it('is sent by these lines only', () => {
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
      file: 'stdio/stdio-transport.ts',
      check: 'if (usePermit(message.call.permit)) {',
      sending: /batch \+=|#takeBatch\(\)(?!:)/,
      senders: ['const batch = this.#takeBatch()', `batch += \`\${message.currentText?.() ?? message.text}\\n\``],
    },
    {
      file: 'built-in/in-process-transport.ts',
      check: 'if (usePermit(request.call.permit)) return this.#transmit(request)',
      sending: /#transmit\(/,
      senders: ['if (usePermit(request.call.permit)) return this.#transmit(request)'],
    },
  ])('is sent only after the permit was checked, in $file', ({ file, check, sending, senders }) => {
    const lines = linesOf(`${upstream}/${file}`)
    expect(lines).toContain(check)
    // Every other line that sends is reached only after that check.
    const calls = lines.filter((line) => sending.test(line) && !/^#(?:transmit|writeBoth)\(.*\{$/.test(line))
    expect(calls).toEqual(senders)
  })

  it('carries the permit of the gateway only if it is a message of the gateway itself', () => {
    const users = sources
      .filter((path) => /\bGATEWAY_PERMIT\b/.test(textOf(path)))
      .map((path) => path.slice(upstream.length + 1))
    // For the request that removes what a session has stored, `upstream.ts` passes it on to `compose/server-purges.ts`.
    const inside = ['http/http-exchange.ts', 'link/link.ts', 'permit.ts', 'stdio/stdio-transport.ts', 'upstream.ts']
    expect(users.toSorted()).toEqual(inside)
  })
})
