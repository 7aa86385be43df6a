import { isJsonObject, type JsonObject, quoteText, SallyportError } from '@sallyport/core'
import type { NativeServer } from '../agent-adapter.ts'
import { type AgentOverlay, CALL_TIMEOUT_S, type OverlayRequest, STARTUP_TIMEOUT_S } from '../agent-overlay.ts'
import { createOverlay, entriesByName, unwantedNames } from '../create-overlay.ts'
import { formatTomlValue } from '../files/format-toml-value.ts'
import { hasFlag } from '../flag-values.ts'
import { CODEX_SOURCES } from './sources.ts'

/**
 * What `-c` says is merged with what the files say, member by member. So the user's servers are switched off one by
 * one, and of a server that stays only what differs is said: its keys must not get into a command line.
 */
export const codexOverlay: AgentOverlay = {
  // A profile is a file of its own, with servers of its own.
  reservedFlags: ['--ignore-user-config', '--profile', '-p', '--remote'],
  // They use servers of a process that runs already, or elsewhere.
  reservedCommands: ['agents', 'cloud', 'queue', 'remote-control'],
  remainingScopes: ['user', 'project', 'local'],
  sources: CODEX_SOURCES,
  isAttended: (args) => !args.some((arg) => UNATTENDED.has(arg)),
  createEntry: (window) => ({
    ...window,
    // An optional server is missing from the first turn when it needs a moment.
    required: true,
    startup_timeout_sec: STARTUP_TIMEOUT_S,
    tool_timeout_sec: CALL_TIMEOUT_S,
    default_tools_approval_mode: 'approve',
  }),
  overlay: (request) => {
    const off = unwantedNames(request).map(
      (name): NativeServer => ({ name, entry: disabledEntry(findNativeEntry(request, name)) }),
    )
    const on = request.servers.map(({ name, entry }) => ({
      name,
      entry: diffEntry(entry, findNativeEntry(request, name)),
    }))
    const table = entriesByName([...on, ...off])
    assertNoOverrides(request.args)
    const alone = request.ours.length > 0 ? disabledFeatureFlags(request) : []
    return createOverlay({
      args: ['-c', `mcp_servers=${formatTomlValue(table)}`, ...alone, ...workingFolderFlags(request), ...request.args],
    })
  },
}

/** Codex would ask whether to work in the folder of the session, whose servers nobody switched off. */
function workingFolderFlags({ args, host }: OverlayRequest): readonly string[] {
  const resumes = args.some((arg) => arg === 'resume' || arg === 'fork')
  const isNamed = hasFlag(args, '-C') || hasFlag(args, '--cd')
  return resumes && !isNamed && !args.some((arg) => UNATTENDED.has(arg)) ? ['-C', host.cwd] : []
}

/** Subcommands that answer what a server asks by themselves, and never with yes. */
const UNATTENDED: ReadonlySet<string> = new Set(['exec', 'e', 'review', 'mcp-server', 'app-server', 'cloud', 'apply'])

/** What brings servers that no file names. */
const SERVER_FEATURES = ['apps', 'plugins', 'skill_mcp_dependency_install']

/** The older name of `apps`. It wins where both are said, and Codex complains of it, so that it is not said without need. */
const OLD_APPS_FEATURE = 'connectors'

function disabledFeatureFlags({ native }: OverlayRequest): readonly string[] {
  const older = native.some(({ config: { document } }) => {
    return isJsonObject(document.features) && Object.hasOwn(document.features, OLD_APPS_FEATURE)
  })
  const features = older ? [...SERVER_FEATURES, OLD_APPS_FEATURE] : SERVER_FEATURES
  // Whoever resumes a session in the window is otherwise asked to go to its folder, with the servers of that.
  const settings = [...features.map((name) => `features.${name}=false`), 'tui.resume_cwd="current"']
  return settings.flatMap((setting) => ['-c', setting])
}

/** Of two `-c` the later one counts, and so does one of the user's behind ours. */
function assertNoOverrides(args: readonly string[]): void {
  const end = args.indexOf('--')
  const flags = args.slice(0, end < 0 ? undefined : end)
  const clash = flags.find((arg, at) =>
    OVERRIDE.test(/^(-c|--config|--enable)$/.test(flags[at - 1] ?? '') ? `-c${arg}` : arg),
  )
  if (clash === undefined) return
  throw new SallyportError(
    'USAGE',
    `${quoteText(clash, 60)} would change the servers of Codex, which is what \`run\` is for.`,
    {
      hint: 'Leave it out, or start the agent without sallyport. Servers are added in config.yaml.',
    },
  )
}

const OVERRIDE =
  /^(-c|--config|--enable)=?\s*["']?(mcp_servers\b|(features\s*\.\s*["']?)?(apps|plugins|connectors|skill_mcp_dependency_install)\b|agents\b|(features|tui)\s*=|tui\s*\.\s*["']?resume_cwd\b)/

/** Complete in itself: a server in a file that Codex does not read after all would otherwise be one without a transport. */
const disabledEntry = (own: JsonObject): JsonObject => ({
  enabled: false,
  ...(Object.hasOwn(own, 'url') ? { url: 'http://127.0.0.1/' } : { command: 'false' }),
})

function findNativeEntry({ native }: OverlayRequest, name: string): JsonObject {
  const found = native.flatMap(({ config }) => config.servers).findLast((server) => server.name === name)
  return found?.entry ?? {}
}

function diffEntry(entry: JsonObject, own: JsonObject): JsonObject {
  const same = (key: string): boolean =>
    Object.hasOwn(own, key) && JSON.stringify(own[key]) === JSON.stringify(entry[key])
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !same(key)))
}
