import { isJsonObject, type JsonObject, quoteText, SallyportError } from '@sallyport/core'
import type { NativeServer } from '../agent-adapter.ts'
import { type AgentOverlay, CALL_TIMEOUT_S, type OverlayRequest, STARTUP_TIMEOUT_S } from '../agent-overlay.ts'
import { createOverlay, entriesByName, unwantedNames } from '../create-overlay.ts'
import { formatTomlValue } from '../files/format-toml-value.ts'
import { hasFlag } from '../flag-values.ts'
import { CODEX_SOURCES } from './sources.ts'

/**
 * Codex merges `-c` values with its files, member by member. So the user's servers are disabled one by one, and for a
 * server that stays only the differences are passed: its secrets must not get into a command line.
 */
export const codexOverlay: AgentOverlay = {
  // A profile is a separate file with its own servers.
  reservedFlags: ['--ignore-user-config', '--profile', '-p', '--remote'],
  // They use servers of a running process, or of another machine.
  reservedCommands: ['agents', 'cloud', 'queue', 'remote-control'],
  remainingScopes: ['user', 'project', 'local'],
  sources: CODEX_SOURCES,
  isAttended: (args) => !args.some((arg) => UNATTENDED.has(arg)),
  createEntry: (window) => ({
    ...window,
    // A slow optional server would be missing in the first turn.
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
    const featureFlags = request.ours.length > 0 ? disabledFeatureFlags(request) : []
    return createOverlay({
      args: [
        '-c',
        `mcp_servers=${formatTomlValue(table)}`,
        ...featureFlags,
        ...workingFolderFlags(request),
        ...request.args,
      ],
    })
  },
}

/** Without this Codex would offer to work in the folder of the session, whose servers are not disabled. */
function workingFolderFlags({ args, host }: OverlayRequest): readonly string[] {
  const resumes = args.some((arg) => arg === 'resume' || arg === 'fork')
  const isNamed = hasFlag(args, '-C') || hasFlag(args, '--cd')
  return resumes && !isNamed && !args.some((arg) => UNATTENDED.has(arg)) ? ['-C', host.cwd] : []
}

/** Subcommands that answer questions of servers without a person, and never with yes. */
const UNATTENDED: ReadonlySet<string> = new Set(['exec', 'e', 'review', 'mcp-server', 'app-server', 'cloud', 'apply'])

/** Features that add servers which are not in any file. */
const SERVER_FEATURES = ['apps', 'plugins', 'skill_mcp_dependency_install']

/** The older name of `apps`. It takes precedence if both are set. Codex warns about it, so it is set only if needed. */
const OLD_APPS_FEATURE = 'connectors'

function disabledFeatureFlags({ native }: OverlayRequest): readonly string[] {
  const older = native.some(({ config: { document } }) => {
    return isJsonObject(document.features) && Object.hasOwn(document.features, OLD_APPS_FEATURE)
  })
  const features = older ? [...SERVER_FEATURES, OLD_APPS_FEATURE] : SERVER_FEATURES
  // Otherwise Codex offers to change to the folder of a resumed session, with the servers of that folder.
  const settings = [...features.map((name) => `features.${name}=false`), 'tui.resume_cwd="current"']
  return settings.flatMap((setting) => ['-c', setting])
}

/** Of two `-c` flags the later one applies, so a flag of the user could override ours. */
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

/** A complete entry: if Codex does not read the file with the server, the entry must still have a transport. */
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
