import { visibleLine } from '../terminal/terminal-text.ts'
import type { ServerView } from './gateway-client.ts'

/** Of these nothing is known now but what they offered before, if anything. */
const UNAVAILABLE_STATES: readonly ServerView['state'][] = ['starting', 'restarting', 'broken', 'needs-login']

/** The servers that cannot be asked what they offer. */
export const findUnavailableServers = (servers: readonly ServerView[]): readonly ServerView[] =>
  servers.filter(({ state }) => UNAVAILABLE_STATES.includes(state))

/** Why one of them cannot be, and what follows from it. */
export function formatUnavailable({ id, state, reason }: ServerView, effect: string): string {
  const why = reason === undefined ? '' : `: ${visibleLine(reason).replace(/\.$/, '')}`
  return `! ${id} is ${state}${why}. ${effect}`
}
