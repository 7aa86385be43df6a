import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  ALLOW,
  compilePathMatcher,
  compilePathRules,
  findPaths,
  type JsonObject,
  type PathContext,
} from '@sallyport/core'
import fc from 'fast-check'
import { createPathContext } from '../../packages/gateway/src/governance/path-context.ts'
import { ROOT } from '../harness/repository.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import type { FuzzSuite } from './fuzz-suite.ts'

const PROGRAM = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
/** Each file contains its own path, so that the result shows which one the server opened. */
const FILES = [
  'data',
  'data/open',
  'data/secret',
  'data/secret/open',
  'more',
  'more/secret',
  'work',
  'work/data/secret',
]
const LINKS = [
  ['data', 'link'],
  ['data/secret', 'data/open/innocent'],
  ['data/secret/open', 'more/deep'],
  ['more', 'data/up'],
  // If a name does not exist as it is written, the server uses one that looks the same.
  ['data/secret', 'data/open/lié'.normalize('NFD')],
  ['data/secret/open', 'more/éd'.normalize('NFC')],
] as const
const FOLDERS = [
  'data',
  'data/open',
  'data/secret',
  'data/secret/open',
  'more',
  'more/secret',
  'link',
  'more/deep',
  'work',
  '',
]

/** The official filesystem server, started with these folders, and what the gateway knows of it. */
interface FileServer {
  readonly client: StdioClient
  readonly world: PathContext
  readonly roots: readonly string[]
}

interface Rule {
  readonly kind: 'forbidden' | 'allowed' | 'unattended'
  readonly folders: readonly string[]
  readonly ending: string
}

export const suite: FuzzSuite = {
  open: async () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-fuzz-paths-')))
    plant(root)
    const servers = await openServers(root)
    return {
      properties: {
        'The server opens no file that path rules keep from it': fc.asyncProperty(
          fc.nat(servers.length - 1),
          rules(root),
          values(root),
          async (at, rule, value) => {
            const server = servers[at]
            if (server) await checkCall(server, rule, value)
          },
        ),
      },
      close: async () => {
        await Promise.all(servers.map(({ client }) => client.kill()))
        rmSync(root, { recursive: true, force: true })
      },
    }
  },
}

async function checkCall({ client, world, roots }: FileServer, rule: Rule, value: string): Promise<void> {
  const args: JsonObject = { path: value }
  if (!compileRule(rule, world)(findPaths(args, undefined), { roots })) return
  const answer = await client.request('tools/call', { name: 'read_text_file', arguments: args })
  if (answer.result === undefined || answer.result.isError) return
  const opened: string = answer.result.content[0].text
  const isInside = rule.folders.some((folder) => opened.startsWith(`${realpathSync(folder)}/`))
  if (isInside === (rule.kind === 'forbidden')) throw new Error(`${opened} was opened.`)
}

/** Whether a call may be made, or made without a question. */
function compileRule({ kind, folders, ending }: Rule, world: PathContext): ReturnType<typeof compilePathMatcher> {
  const value = folders.map((folder) => folder + ending)
  if (kind === 'unattended') return compilePathMatcher(value, world)
  const patterns = { value, reason: '' }
  const judge = compilePathRules(kind === 'allowed' ? { allowedPaths: patterns } : { forbiddenPaths: patterns }, world)
  return (found, bases) => judge(found, bases) === ALLOW
}

/** Few forbidden or many allowed folders, so that enough passes. */
function rules(root: string): fc.Arbitrary<Rule> {
  const folders = FOLDERS.map((folder) => join(root, folder))
  const ending = fc.constantFrom('', '/', '/**')
  return fc.oneof(
    fc.record({
      kind: fc.constant('forbidden' as const),
      folders: fc.subarray(folders, { minLength: 1, maxLength: 2 }),
      ending,
    }),
    fc.record({
      kind: fc.constantFrom('allowed' as const, 'unattended' as const),
      folders: fc.subarray(folders, { minLength: 3 }),
      ending,
    }),
  )
}

/** Paths through the tree, most of them to one of its files, in every notation that a server might accept. */
function values(root: string): fc.Arbitrary<string> {
  const names = [...new Set([...FILES, ...LINKS.map(([, name]) => name)].flatMap((path) => path.split('/')))]
  const anyWay = fc.array(fc.constantFrom(...names, '..', '..', '.', '', 'missing', '~'), { maxLength: 5 })
  const detour = fc.constantFrom([], [], [], ['.'], [''], ['missing', '..'], ['open', '..'], ['up', '..'])
  const knownWay = fc
    .tuple(fc.constantFrom(...FILES, ...LINKS.map(([, name]) => name)), fc.nat(2), fc.array(detour, { maxLength: 3 }))
    .map(([path, skipped, detours]) =>
      path
        .split('/')
        .slice(skipped)
        .flatMap((name, at) => [...(detours[at] ?? []), name]),
    )
  const start = fc.constantFrom(
    '',
    '',
    '',
    '',
    './',
    '/',
    '~/',
    `${root}/`,
    `${root}/data/`,
    `file://${root}/`,
    ' ',
    '"',
  )
  return fc
    .tuple(start, fc.oneof(anyWay, knownWay, knownWay), fc.constantFrom(...SPELLINGS))
    .map(([before, way, spell]) => before + spell([...way, 'a.txt'].join('/')))
}

const asItIs = (path: string): string => path
const SPELLINGS: readonly ((path: string) => string)[] = [
  ...[asItIs, asItIs, asItIs, asItIs, encodeURIComponent],
  (path) => path.replaceAll('/', '\\'),
  (path) => path.replaceAll('/', '//'),
  (path) => path.replaceAll('.', '%2e'),
  (path) => `${path} `,
  (path) => `${path}"`,
  (path) => path.normalize('NFC'),
  (path) => path.normalize('NFD'),
]

function plant(root: string): void {
  for (const folder of FILES) {
    const file = join(root, folder, 'a.txt')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, file)
  }
  for (const [target, name] of LINKS) symlinkSync(join(root, target), join(root, name))
}

const openServers = (root: string): Promise<readonly FileServer[]> =>
  Promise.all([
    openServer(root, { args: ['data'], cwd: '' }),
    openServer(root, { args: [`${root}/data`], cwd: 'work' }),
    openServer(root, { args: [`${root}/more`, `${root}/link`], cwd: 'data/open' }),
    openServer(root, { args: ['.', '~/more'], cwd: 'data' }),
    openServer(root, { args: [`${root}/work`], cwd: 'more', roots: ['data/secret', 'link/open'] }),
  ])

interface Start {
  readonly args: readonly string[]
  readonly cwd: string
  readonly roots?: readonly string[]
}

async function openServer(root: string, { args, cwd, roots = [] }: Start): Promise<FileServer> {
  const folder = join(root, cwd)
  const environment = { HOME: root }
  const client = new StdioClient(spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: environment }))
  const uris = roots.map((path) => pathToFileURL(join(root, path)).href)
  const asked = client.next(({ method }) => method === 'roots/list')
  await client.initialize(roots.length > 0 ? { roots: {} } : {})
  if (roots.length > 0) {
    const { id } = await asked
    client.answer(id, { result: { roots: uris.map((uri) => ({ uri })) } })
  }
  await client.request('tools/list')
  const platform = process.platform
  const world = createPathContext({ environment, userHome: root, cwd: folder, args: [PROGRAM, ...args], platform })
  return { client, world, roots: uris }
}
