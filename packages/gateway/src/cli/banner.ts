import { join } from 'node:path'
import { quoteForShell } from '@sallyport/core'
import { MAIN_FILE } from '../package-root.ts'
import type { GlobalFlags } from './global-flags.ts'
import type { ServeFlags } from './serve-command.ts'

export interface Banner {
  readonly url: string
  readonly login: string
  readonly home: string
  readonly state: string
  readonly flags: ServeFlags & GlobalFlags
}

/** What a person needs next: the page, and the line that connects an agent. No credential stands in that line. */
export function formatBanner({ url, login, home, state, flags }: Banner): string {
  if (flags.json) return `${JSON.stringify({ url: `${url}/mcp`, ui: `${url}/login?token=${login}`, home, state })}\n`
  const agent = ['node', MAIN_FILE, 'serve', '--stdio', '--home', home, '--state', state].map(quoteForShell).join(' ')
  const http = flags['no-auth']
    ? 'no token is asked for: everybody on this machine can use the tools'
    : `Authorization: Bearer $(cat ${quoteForShell(join(state, 'tokens', 'agent'))})`
  return [
    '',
    `  Sallyport serves ${home}`,
    '',
    `  Web page       ${url}/login?token=${login}`,
    `  MCP over HTTP  ${url}/mcp   (${http})`,
    `  Claude Code    claude mcp add gw -- ${agent}`,
    '',
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n')
}
