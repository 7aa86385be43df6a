import { cutText } from '@sallyport/core'
import type { ServerView } from '../../gateway/gateway-client.ts'
import { visibleLine } from '../../terminal/terminal-text.ts'

const MAX_REASON_LENGTH = 300

/** One line about the state of a server: `✓ files: 14 tools`. */
export function formatServerLine({ id, state, tools, reason }: ServerView): string {
  if (state === 'ready') return `✓ ${id}: ${tools} ${tools === 1 ? 'tool' : 'tools'}`
  if (state === 'disabled') return `- ${id} is disabled`
  const why = reason === undefined ? '' : `: ${visibleLine(cutText(reason, MAX_REASON_LENGTH))}`
  return `${state === 'starting' || state === 'stopped' ? '…' : '✗'} ${id} is ${state}${why}`
}
