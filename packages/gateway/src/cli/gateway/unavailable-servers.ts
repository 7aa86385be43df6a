import { visibleLine } from '../terminal/terminal-text.ts'
import type { ServerView } from './gateway-client.ts'

/** In these states only the earlier offer of a server is known, if any. */
const UNAVAILABLE_STATES: readonly ServerView['state'][] = ['starting', 'restarting', 'broken', 'needs-login']

/** The servers whose current offer cannot be read. */
export const findUnavailableServers = (servers: readonly ServerView[]): readonly ServerView[] =>
  servers.filter(({ state }) => UNAVAILABLE_STATES.includes(state))

/** Why a server is unavailable, and the effect of that. */
export function formatUnavailable({ id, state, reason }: ServerView, effect: string): string {
  const why = reason === undefined ? '' : `: ${visibleLine(reason).replace(/\.$/, '')}`
  return `! ${id} is ${state}${why}. ${effect}`
}
