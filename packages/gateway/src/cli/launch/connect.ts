import {
  type AgentAdapter,
  buildConnectEntry,
  type ConnectEntry,
  findAdapter,
  tokenVariableName,
} from '../../agents/agents.ts'
import {
  DEFAULT_VARIANT,
  getSelectedMcpTools,
  ProfilesEditor,
  profileKey,
  requireProfile,
} from '../../config/config.ts'
import { MAIN_FILE } from '../../package-root.ts'
import type { CliContext } from '../cli-context.ts'
import { type FoundHome, findHome } from '../find-home.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createHostContext } from '../host-context.ts'
import { createScreen } from '../terminal/screen.ts'
import { requireMcp } from './launch-plan.ts'

export interface ConnectFlags {
  readonly profile?: string
}

/**
 * Prints the entry that connects an agent permanently. The entry goes to stdout; instructions and the token go to
 * stderr.
 */
export async function connect(context: CliContext, flags: ConnectFlags & GlobalFlags, agent: string): Promise<void> {
  const screen = createScreen(context, flags)
  const adapter = findAdapter(agent)
  requireMcp(adapter)
  const variant = flags.profile ?? 'default'
  const found = await findHome(context, flags)
  await readLaunchProfile(found, { agent: adapter.id, variant })
  const request = { agent: adapter.id, profile: variant }
  const { token, record } = await withRecords(context, flags, (client) => client.mintToken(request))
  const { entry, variable } = buildEntry(context, { adapter, found, variant, token })
  if (screen.json) return screen.printJson({ ...toJsonEntry(adapter, entry, variable), token, token_id: record.id })
  screen.print(entry.text)
  for (const line of [...describeLocation(adapter, entry), ...describeToken(adapter, entry, { variable, token })])
    screen.printMessage(line)
  screen.printMessage(`It is valid until \`sallyport token revoke ${record.id}\`.`)
}

export interface ConnectTarget {
  readonly adapter: AgentAdapter
  readonly found: FoundHome
  readonly variant: string
}

/**
 * For an agent that cannot be configured for one run: prints the entry to paste. No token is created just to show it.
 */
export function printEntry(context: CliContext, flags: GlobalFlags, shown: ConnectTarget): void {
  const screen = createScreen(context, flags)
  const { adapter } = shown
  const { entry, variable } = buildEntry(context, shown)
  if (screen.json) return screen.printJson(toJsonEntry(adapter, entry, variable))
  screen.printMessage(`${adapter.title} cannot be given other servers for one run, so nothing is started.`)
  screen.print(entry.text)
  for (const line of describeLocation(adapter, entry)) screen.printMessage(line)
  screen.printMessage(`\`sallyport connect ${adapter.id}\` prints the same, and creates the token that it needs.`)
}

function buildEntry(
  context: CliContext,
  { adapter, found, variant, token }: ConnectTarget & { readonly token?: string },
) {
  const variable = tokenVariableName(adapter.id, variant)
  const window = { command: process.execPath, args: [...windowArgs(found), '--token-from', variable] }
  return { entry: buildConnectEntry(adapter, { host: createHostContext(context), window, variable, token }), variable }
}

const toJsonEntry = ({ id }: AgentAdapter, { file, text, tokenSource }: ConnectEntry, variable: string) => ({
  ...{ agent: id, file, entry: text, variable, token_way: tokenSource },
})

/** A home that came with a project is not homeFlag: with a flag, its trust would no longer be checked. */
function windowArgs({ home, state }: FoundHome): readonly string[] {
  const homeFlag = home.origin === 'project' ? [] : ['--home', home.path]
  return [MAIN_FILE, 'serve', '--stdio', ...homeFlag, '--state', state]
}

function describeLocation({ id, title, enforcement }: AgentAdapter, { file }: ConnectEntry): readonly string[] {
  const instruction =
    file === undefined ? `Paste this into the file in which ${title} stores its servers.` : `Paste this into ${file}.`
  const alternative =
    enforcement.level === 'none'
      ? [`${title} keeps its other servers: remove those that the gateway is to govern.`]
      : [`Without any change of a file, for one run: \`sallyport run ${id}\`.`]
  return ['', instruction, ...alternative]
}

interface GivenToken {
  readonly variable: string
  readonly token: string
}

function describeToken({ title }: AgentAdapter, { tokenSource }: ConnectEntry, { variable, token }: GivenToken) {
  if (tokenSource === 'pasted')
    return [`${title} cannot read variables there, so the token is in the entry: keep the file private.`]
  return [
    `Set the token where ${title} is started from, for example in your shell’s profile:`,
    `  export ${variable}=${token}`,
  ]
}

interface LaunchProfileQuery {
  readonly agent: string
  readonly variant: string
}

interface LaunchProfile {
  /** What the profile selects; `undefined` means everything. */
  readonly selection: readonly string[] | undefined
  /** The session that its runs share, if the profile names one. */
  readonly session: string | undefined
}

/** The profile of a run. A misspelt name is an error, not a profile without a selection. */
export async function readLaunchProfile(
  { home, state }: Pick<FoundHome, 'home' | 'state'>,
  { agent, variant }: LaunchProfileQuery,
): Promise<LaunchProfile> {
  const { profiles } = await new ProfilesEditor({ home, state }).read()
  if (profileKey(agent, variant) !== profileKey(agent, DEFAULT_VARIANT)) requireProfile(profiles, { agent, variant })
  const session = profiles.get(profileKey(agent, variant))?.session
  return { selection: getSelectedMcpTools(profiles, agent, variant), session }
}
