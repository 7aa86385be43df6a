import { type AgentAdapter, type ConnectEntry, connectEntry, findAdapter } from '../../agents/agents.ts'
import { MAIN_FILE } from '../../package-root.ts'
import { placeOf } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { type FoundHome, findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { withRecords } from '../reach-gateway.ts'
import { createScreen } from '../screen.ts'
import { tokenVariable } from '../token-variable.ts'
import { requireMcp } from './launch-plan.ts'
import { readLaunchProfile } from './launch-profile.ts'

export interface ConnectFlags {
  readonly profile?: string
}

/** Prints what connects an agent for good. The entry goes to stdout; what to do with it, and the token, are words. */
export async function connect(context: CliContext, flags: ConnectFlags & GlobalFlags, agent: string): Promise<void> {
  const screen = createScreen(context, flags)
  const adapter = findAdapter(agent)
  requireMcp(adapter)
  const variant = flags.profile ?? 'default'
  const found = await findHome(context, flags)
  await readLaunchProfile(found, { agent: adapter.id, variant })
  const wish = { agent: adapter.id, profile: variant }
  const { token, record } = await withRecords(context, flags, (client) => client.mintToken(wish))
  const { entry, variable } = entryFor(context, { adapter, found, variant, token })
  if (screen.json) return screen.dataJson({ ...shownEntry(adapter, entry, variable), token, token_id: record.id })
  screen.data(entry.text)
  for (const line of [...placeWords(adapter, entry), ...tokenWords(adapter, entry, { variable, token })])
    screen.say(line)
  screen.say(`It counts until \`sallyport token revoke ${record.id}\`.`)
}

export interface ShownAgent {
  readonly adapter: AgentAdapter
  readonly found: FoundHome
  readonly variant: string
}

/** For an agent that cannot be told for one run: what would be pasted. No token is made for somebody who only looks. */
export function showEntry(context: CliContext, flags: GlobalFlags, shown: ShownAgent): void {
  const screen = createScreen(context, flags)
  const { adapter } = shown
  const { entry, variable } = entryFor(context, shown)
  if (screen.json) return screen.dataJson(shownEntry(adapter, entry, variable))
  screen.say(`${adapter.title} cannot be given other servers for one run, so nothing is started.`)
  screen.data(entry.text)
  for (const line of placeWords(adapter, entry)) screen.say(line)
  screen.say(`\`sallyport connect ${adapter.id}\` prints the same, and makes the token that it needs.`)
}

function entryFor(context: CliContext, { adapter, found, variant, token }: ShownAgent & { readonly token?: string }) {
  const variable = tokenVariable(adapter.id, variant)
  const window = { command: process.execPath, args: [...windowArgs(found), '--token-from', variable] }
  return { entry: connectEntry(adapter, { place: placeOf(context), window, variable, token }), variable }
}

const shownEntry = ({ id }: AgentAdapter, { file, text, tokenWay }: ConnectEntry, variable: string) => ({
  ...{ agent: id, file, entry: text, variable, token_way: tokenWay },
})

/** A home that came with a folder is not named: it would no longer be asked whether it is trusted. */
function windowArgs({ home, state }: FoundHome): readonly string[] {
  const named = home.origin === 'project' ? [] : ['--home', home.path]
  return [MAIN_FILE, 'serve', '--stdio', ...named, '--state', state]
}

function placeWords({ id, title, enforcement }: AgentAdapter, { file }: ConnectEntry): readonly string[] {
  const place =
    file === undefined ? `Paste this into the file in which ${title} keeps its servers.` : `Paste this into ${file}.`
  const only =
    enforcement.level === 'none'
      ? [`${title} keeps its other servers: remove those that the gateway is to govern.`]
      : [`Without any change of a file, for one run: \`sallyport run ${id}\`.`]
  return ['', place, ...only]
}

interface GivenToken {
  readonly variable: string
  readonly token: string
}

function tokenWords({ title }: AgentAdapter, { tokenWay }: ConnectEntry, { variable, token }: GivenToken) {
  if (tokenWay === 'pasted')
    return [`${title} cannot read variables there, so the token stands in the entry: keep the file to yourself.`]
  return [
    `Set the token where ${title} is started from, for example in your shell’s profile:`,
    `  export ${variable}=${token}`,
  ]
}
