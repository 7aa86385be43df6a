import { type AgentAdapter, type ConnectEntry, connectEntry, findAdapter } from '../../agents/agents.ts'
import { MAIN_FILE } from '../../package-root.ts'
import { placeOf } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { type FoundHome, findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { withRecords } from '../reach-gateway.ts'
import { createScreen } from '../screen.ts'
import { requireMcp } from './launch-plan.ts'
import { readLaunchProfile } from './launch-profile.ts'

export interface ConnectFlags {
  readonly profile?: string
}

const VARIABLE = 'SALLYPORT_TOKEN'

/** Prints what connects an agent for good. The entry goes to stdout; what to do with it, and the token, are words. */
export async function connect(context: CliContext, flags: ConnectFlags & GlobalFlags, agent: string): Promise<void> {
  const screen = createScreen(context, flags)
  const adapter = findAdapter(agent)
  requireMcp(adapter)
  const variant = flags.profile ?? 'default'
  const found = await findHome(context, flags)
  await readLaunchProfile(found, { agent: adapter.id, variant })
  const window = { command: process.execPath, args: windowArgs(found) }
  const entry = connectEntry(adapter, { place: placeOf(context), window, variable: VARIABLE })
  const wish = { agent: adapter.id, profile: variant }
  const { token, record } = await withRecords(context, flags, (client) => client.mintToken(wish))
  if (screen.json) {
    const { file, text, tokenWay } = entry
    return screen.dataJson({
      agent: adapter.id,
      file,
      entry: text,
      variable: VARIABLE,
      token_way: tokenWay,
      token,
      token_id: record.id,
    })
  }
  screen.data(entry.text)
  for (const line of wordsOn(adapter, entry, token)) screen.say(line)
  screen.say(`It counts until \`sallyport token revoke ${record.id}\`.`)
}

/** A home that came with a folder is not named: it would no longer be asked whether it is trusted. */
function windowArgs({ home, state }: FoundHome): readonly string[] {
  const named = home.origin === 'project' ? [] : ['--home', home.path]
  return [MAIN_FILE, 'serve', '--stdio', ...named, '--state', state]
}

function wordsOn(
  { id, title, enforcement }: AgentAdapter,
  { file, tokenWay }: ConnectEntry,
  token: string,
): readonly string[] {
  const place =
    file === undefined ? `Paste this into the file in which ${title} keeps its servers.` : `Paste this into ${file}.`
  const only =
    enforcement.level === 'none'
      ? [`${title} keeps its other servers: remove those that the gateway is to govern.`]
      : [`Without any change of a file, for one run: \`sallyport run ${id}\`.`]
  return ['', place, ...only, ...tokenWords(title, tokenWay, token)]
}

function tokenWords(title: string, way: ConnectEntry['tokenWay'], token: string): readonly string[] {
  if (way === 'pasted')
    return [
      `${title} cannot read variables there: put this token in place of <the token>, and keep the file to yourself.`,
      `  ${token}`,
    ]
  return [
    `Set the token where ${title} is started from, for example in your shell’s profile:`,
    `  export ${VARIABLE}=${token}`,
  ]
}
