import { resolve } from 'node:path'
import { type JsonObject, SallyportError } from '@sallyport/core'
import { type AgentOverlay, CALL_PATIENCE_S, type OwnFile } from '../agent-overlay.ts'
import { flagValues } from '../flag-values.ts'
import { createOverlay } from '../overlay-parts.ts'
import { mayHold, type SourceSearch } from '../server-sources.ts'
import { type GooseSession, resumedSession, resumes } from './sessions.ts'

/** The commands of goose that start servers and can be told which. */
const COMMANDS = new Set(['run', 'session', 's'])
/** Parts of goose itself that it has unless its file says otherwise. */
const USUAL_PARTS = ['analyze', 'apps', 'developer', 'skills']
/** Parts that start other extensions: those of the file, and those of a recipe. */
const BRINGERS: ReadonlySet<string> = new Set(['extensionmanager', 'orchestrator', 'summon'])
const OWN_PARTS: readonly unknown[] = ['builtin', 'platform']
/** What `serve --launch` takes from its environment: goose keeps the words of a server with each session. */
const FROM_ENVIRONMENT = 'from-environment'

/** `--no-profile` leaves the user's extensions out; ours is added by a flag, which only some commands have. */
export const gooseOverlay: AgentOverlay = {
  // A recipe brings extensions of its own.
  reserved: [
    '--with-extension',
    '--with-streamable-http-extension',
    '--with-remote-extension',
    '--no-profile',
    '--recipe',
    '--sub-recipe',
    '--path',
  ],
  stays: [],
  sources: [
    { name: 'extensions of the user', state: 'closed', means: '`--no-profile`' },
    { name: 'plugins', state: 'closed', means: '`--no-profile` covers `.mcp.json` in `.agents/plugins`' },
    {
      name: 'sessions that are resumed',
      state: 'refused',
      means: '`--resume` of a session with extensions other than ours and parts of goose',
      find: othersInSession,
    },
    { name: 'parts of goose that start others', state: 'closed', means: 'left out: `extensionmanager`, `summon`' },
    { name: 'variables', state: 'closed', means: '`--no-profile` covers `GOOSE_ADDITIONAL_CONFIG_FILES`' },
    {
      name: 'a model that is an agent itself',
      state: 'refused',
      means: 'a provider such as `codex` or `gemini-cli`: it starts a program with servers of its own',
      find: agentsAsModels,
    },
    {
      name: 'flags and commands',
      state: 'refused',
      means: '`--with-extension`, `--recipe`, all but `run` and `session`',
    },
  ],
  carriesNone: 'On a command line its variables would be seen by every user of this machine.',
  entry: ({ command, args }) => ({
    ...{ type: 'stdio', cmd: command, timeout: CALL_PATIENCE_S, enabled: true },
    args: args.map((word, at) => (args[at - 1] === '--launch' ? FROM_ENVIRONMENT : word)),
  }),
  overlay: (request) => {
    const { servers, args, folder, place, native } = request
    const [command = 'session', ...rest] = args
    if (!COMMANDS.has(command))
      throw new SallyportError('USAGE', `goose ${command} cannot be told which servers to start.`, {
        hint: 'Use `sallyport run goose -- run …` or `sallyport run goose -- session …`.',
      })
    const session = resumes(rest) ? resumedSession(place, rest) : undefined
    const kept = session?.extensions ?? []
    const added = servers.filter(({ entry }) => !kept.some((extension) => isSame(extension, entry)))
    const extensions = added.flatMap(({ name, entry }) => ['--with-extension', `${name}:${commandLine(entry)}`])
    const parts = partsOf(native).filter((part) => !kept.some(({ name }) => partName(String(name)) === part))
    const builtIns = parts.length === 0 ? [] : ['--with-builtin', parts.join(',')]
    return createOverlay({
      args: [command, '--no-profile', ...builtIns, ...extensions, ...(session ? resuming(session, rest) : rest)],
      environment: { SALLYPORT_LAUNCH: folder },
    })
  },
}

/** Providers that are programs with servers of their own. To `claude-code` goose says that it may have ours only. */
const AGENTS: ReadonlySet<unknown> = new Set([
  ...['amp-acp', 'claude-acp', 'codex', 'codex-acp', 'copilot-acp', 'cursor-agent', 'gemini-cli', 'pi-acp'],
])
const PROVIDER = /^(GOOSE_(\w+_)?PROVIDER|active_provider)$/

async function agentsAsModels({ place, args, native }: SourceSearch): Promise<readonly string[]> {
  const isAgent = ([name, value]: readonly [string, unknown]): boolean => PROVIDER.test(name) && AGENTS.has(value)
  const session = resumes(args) ? resumedSession(place, args) : undefined
  const more = (place.environment.GOOSE_ADDITIONAL_CONFIG_FILES ?? '').split(place.platform === 'win32' ? ';' : ':')
  const files = [
    ...more.filter((path) => path !== '').map((path) => resolve(place.cwd, path)),
    '/etc/goose/config.yaml',
  ]
  const holding = await Promise.all(
    files.map(async (path) => (await mayHold(path, 'PROVIDER')) || mayHold(path, 'active_provider')),
  )
  return [
    ...flagValues(args, ['--provider'])
      .filter(({ value }) => AGENTS.has(value))
      .map(({ value }) => `--provider ${value}`),
    ...Object.entries(place.environment)
      .filter(isAgent)
      .map(([name]) => name),
    ...native.flatMap(({ file, config }) =>
      Object.entries(config.document)
        .filter(isAgent)
        .map(([name]) => `${name} in ${file.path}`),
    ),
    ...files.filter((_, at) => holding[at]),
    ...(AGENTS.has(session?.provider) ? [`the provider of the session ${session?.id} (--resume)`] : []),
  ]
}

/** Its own parts as the user's file has them. */
function partsOf(native: readonly OwnFile[]): readonly string[] {
  const named = native.flatMap(({ config }) => extensionsIn(config.document))
  const off = new Set(named.filter(({ enabled }) => enabled === false).map(({ name }) => name))
  const on = named.filter(({ type, enabled }) => OWN_PARTS.includes(type) && enabled !== false).map(({ name }) => name)
  return [...new Set([...USUAL_PARTS, ...on])].filter((name) => !off.has(name) && !BRINGERS.has(name))
}

function extensionsIn({ extensions }: JsonObject): readonly (JsonObject & { readonly name: string })[] {
  const entries = Object.entries((extensions ?? {}) as Record<string, JsonObject>)
  return entries.map(([key, entry]) => ({
    ...entry,
    name: partName(typeof entry?.name === 'string' ? entry.name : key),
  }))
}

/** As goose folds names: `Extension Manager` is `extensionmanager`. */
const partName = (name: string): string => name.replaceAll(/\s/g, '').toLowerCase()

/** By its id: which one a name means, or which is the newest, goose must not decide otherwise than we did. */
function resuming({ id }: GooseSession, args: readonly string[]): readonly string[] {
  const named = ['--session-id', '--name', '-n']
  const rest = args.filter(
    (arg, at) =>
      !named.includes(arg) && !named.includes(args[at - 1] ?? '') && !/^(--session-id|--name)=|^-n./.test(arg),
  )
  return ['--session-id', id, ...rest]
}

function othersInSession({ place, args, servers }: SourceSearch): readonly string[] {
  if (!resumes(args)) return []
  const session = resumedSession(place, args)
  if (session === undefined) return ['a session that goose does not tell about (--resume)']
  const isOurs = (extension: JsonObject): boolean => servers.some(({ entry }) => isSame(extension, entry))
  const others = session.extensions.filter((extension) => !isPart(extension) && !isOurs(extension))
  return others.map(({ name }) => `"${String(name)}" in the session ${session.id} (--resume)`)
}

const isPart = ({ type, name }: JsonObject): boolean =>
  OWN_PARTS.includes(type) && !BRINGERS.has(partName(String(name)))

/** What a run before this one has left in a session is the same program, which finds its run by its environment. */
const isSame = (extension: JsonObject, entry: JsonObject): boolean =>
  extension.type === entry.type &&
  extension.cmd === entry.cmd &&
  JSON.stringify(extension.args) === JSON.stringify(entry.args)

const commandLine = ({ cmd, args }: JsonObject): string =>
  [cmd, ...(args as readonly unknown[])].map((word) => quoted(String(word))).join(' ')

/** goose splits the text as a shell does. */
const quoted = (word: string): string => (/^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
