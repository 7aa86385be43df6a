import { resolve } from 'node:path'
import { type JsonObject, SallyportError } from '@sallyport/core'
import { type AgentOverlay, CALL_TIMEOUT_S, type ParsedNativeFile } from '../agent-overlay.ts'
import { createOverlay } from '../create-overlay.ts'
import { findFlagValues } from '../flag-values.ts'
import { fileMayContain, type SourceSearch } from '../server-sources.ts'
import { findResumedSession, type GooseSession, isResuming } from './sessions.ts'

/** The commands of goose that start servers and have flags to choose them. */
const COMMANDS = new Set(['run', 'session', 's'])
/** Built-in extensions of goose that are enabled unless its file disables them. */
const DEFAULT_BUILT_INS = ['analyze', 'apps', 'developer', 'skills']
/** Built-in extensions that start others: those of the file, and those of a recipe. */
const EXTENSION_LOADERS: ReadonlySet<string> = new Set(['extensionmanager', 'orchestrator', 'summon'])
const BUILT_IN_TYPES: readonly unknown[] = ['builtin', 'platform']
/**
 * Makes `serve --launch` read the folder from its environment: goose stores a server's command line with each session.
 */
const FROM_ENVIRONMENT = 'from-environment'

/** `--no-profile` disables the user's extensions; ours is added by a flag, which only some commands have. */
export const gooseOverlay: AgentOverlay = {
  // A recipe adds its own extensions.
  reservedFlags: [
    '--with-extension',
    '--with-streamable-http-extension',
    '--with-remote-extension',
    '--no-profile',
    '--recipe',
    '--sub-recipe',
    '--path',
  ],
  remainingScopes: [],
  sources: [
    { name: 'extensions of the user', state: 'closed', mechanism: '`--no-profile`' },
    { name: 'plugins', state: 'closed', mechanism: '`--no-profile` covers `.mcp.json` in `.agents/plugins`' },
    {
      name: 'sessions that are resumed',
      state: 'refused',
      mechanism: '`--resume` of a session with extensions other than ours and parts of goose',
      find: findOthersInSession,
    },
    { name: 'parts of goose that start others', state: 'closed', mechanism: 'left out: `extensionmanager`, `summon`' },
    { name: 'variables', state: 'closed', mechanism: '`--no-profile` covers `GOOSE_ADDITIONAL_CONFIG_FILES`' },
    {
      name: 'a model that is an agent itself',
      state: 'refused',
      mechanism: 'a provider such as `codex` or `gemini-cli`: it starts a program with servers of its own',
      find: findAgentProviders,
    },
    {
      name: 'flags and commands',
      state: 'refused',
      mechanism: '`--with-extension`, `--recipe`, all but `run` and `session`',
    },
  ],
  noNativeReason: 'On a command line its variables would be visible to every user of this machine.',
  createEntry: ({ command, args }) => ({
    ...{ type: 'stdio', cmd: command, timeout: CALL_TIMEOUT_S, enabled: true },
    args: args.map((word, at) => (args[at - 1] === '--launch' ? FROM_ENVIRONMENT : word)),
  }),
  overlay: (request) => {
    const { servers, args, folder, host, native } = request
    const [command = 'session', ...rest] = args
    if (!COMMANDS.has(command))
      throw new SallyportError('USAGE', `goose ${command} cannot be told which servers to start.`, {
        hint: 'Use `sallyport run goose -- run …` or `sallyport run goose -- session …`.',
      })
    const session = isResuming(rest) ? findResumedSession(host, rest) : undefined
    const kept = session?.extensions ?? []
    const added = servers.filter(({ entry }) => !kept.some((extension) => isSameServer(extension, entry)))
    const extensions = added.flatMap(({ name, entry }) => ['--with-extension', `${name}:${commandLine(entry)}`])
    const parts = listBuiltIns(native).filter((part) => !kept.some(({ name }) => normalizeName(String(name)) === part))
    const builtIns = parts.length === 0 ? [] : ['--with-builtin', parts.join(',')]
    return createOverlay({
      args: [command, '--no-profile', ...builtIns, ...extensions, ...(session ? buildResumeArgs(session, rest) : rest)],
      environment: { SALLYPORT_LAUNCH: folder },
    })
  },
}

/**
 * Providers that are agents with their own servers. `claude-code` is not listed: goose starts it with our server only.
 */
const AGENTS: ReadonlySet<unknown> = new Set([
  ...['amp-acp', 'claude-acp', 'codex', 'codex-acp', 'copilot-acp', 'cursor-agent', 'gemini-cli', 'pi-acp'],
])
const PROVIDER = /^(GOOSE_(\w+_)?PROVIDER|active_provider)$/

async function findAgentProviders({ host, args, native }: SourceSearch): Promise<readonly string[]> {
  const isAgent = ([name, value]: readonly [string, unknown]): boolean => PROVIDER.test(name) && AGENTS.has(value)
  const session = isResuming(args) ? findResumedSession(host, args) : undefined
  const more = (host.environment.GOOSE_ADDITIONAL_CONFIG_FILES ?? '').split(host.platform === 'win32' ? ';' : ':')
  const files = [...more.filter((path) => path !== '').map((path) => resolve(host.cwd, path)), '/etc/goose/config.yaml']
  const mayContain = await Promise.all(
    files.map(async (path) => (await fileMayContain(path, 'PROVIDER')) || fileMayContain(path, 'active_provider')),
  )
  return [
    ...findFlagValues(args, ['--provider'])
      .filter(({ value }) => AGENTS.has(value))
      .map(({ value }) => `--provider ${value}`),
    ...Object.entries(host.environment)
      .filter(isAgent)
      .map(([name]) => name),
    ...native.flatMap(({ file, config }) =>
      Object.entries(config.document)
        .filter(isAgent)
        .map(([name]) => `${name} in ${file.path}`),
    ),
    ...files.filter((_, at) => mayContain[at]),
    ...(AGENTS.has(session?.provider) ? [`the provider of the session ${session?.id} (--resume)`] : []),
  ]
}

/** The built-in extensions that the user's file enables. */
function listBuiltIns(native: readonly ParsedNativeFile[]): readonly string[] {
  const named = native.flatMap(({ config }) => listExtensions(config.document))
  const off = new Set(named.filter(({ enabled }) => enabled === false).map(({ name }) => name))
  const on = named
    .filter(({ type, enabled }) => BUILT_IN_TYPES.includes(type) && enabled !== false)
    .map(({ name }) => name)
  return [...new Set([...DEFAULT_BUILT_INS, ...on])].filter((name) => !off.has(name) && !EXTENSION_LOADERS.has(name))
}

function listExtensions({ extensions }: JsonObject): readonly (JsonObject & { readonly name: string })[] {
  const entries = Object.entries((extensions ?? {}) as Record<string, JsonObject>)
  return entries.map(([key, entry]) => ({
    ...entry,
    name: normalizeName(typeof entry?.name === 'string' ? entry.name : key),
  }))
}

/** Normalizes like goose: `Extension Manager` is `extensionmanager`. */
const normalizeName = (name: string): string => name.replaceAll(/\s/g, '').toLowerCase()

/** Resumes by id, so that goose cannot choose another session by name or age than the one that was checked. */
function buildResumeArgs({ id }: GooseSession, args: readonly string[]): readonly string[] {
  const named = ['--session-id', '--name', '-n']
  const rest = args.filter(
    (arg, at) =>
      !named.includes(arg) && !named.includes(args[at - 1] ?? '') && !/^(--session-id|--name)=|^-n./.test(arg),
  )
  return ['--session-id', id, ...rest]
}

function findOthersInSession({ host, args, servers }: SourceSearch): readonly string[] {
  if (!isResuming(args)) return []
  const session = findResumedSession(host, args)
  if (session === undefined) return ['a session that goose does not list (--resume)']
  const isOurs = (extension: JsonObject): boolean => servers.some(({ entry }) => isSameServer(extension, entry))
  const others = session.extensions.filter((extension) => !isBuiltIn(extension) && !isOurs(extension))
  return others.map(({ name }) => `"${String(name)}" in the session ${session.id} (--resume)`)
}

const isBuiltIn = ({ type, name }: JsonObject): boolean =>
  BUILT_IN_TYPES.includes(type) && !EXTENSION_LOADERS.has(normalizeName(String(name)))

/** An earlier run leaves the same command in a session. It finds its current run through the environment. */
const isSameServer = (extension: JsonObject, entry: JsonObject): boolean =>
  extension.type === entry.type &&
  extension.cmd === entry.cmd &&
  JSON.stringify(extension.args) === JSON.stringify(entry.args)

const commandLine = ({ cmd, args }: JsonObject): string =>
  [cmd, ...(args as readonly unknown[])].map((word) => quoteWord(String(word))).join(' ')

/** goose splits the text like a shell. */
const quoteWord = (word: string): string => (/^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
