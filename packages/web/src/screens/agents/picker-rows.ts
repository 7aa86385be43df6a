import type { AgentServer, AgentTool } from './agents-queries.ts'

export type Row =
  | { readonly kind: 'server'; readonly server: AgentServer; readonly shown: readonly AgentTool[] }
  | { readonly kind: 'tool'; readonly server: AgentServer; readonly tool: AgentTool }
  | { readonly kind: 'stale'; readonly selector: string }

export const rowKey = (row: Row): string => {
  if (row.kind === 'stale') return `stale\n${row.selector}`
  return row.kind === 'server' ? `server\n${row.server.id}` : `tool\n${row.server.id}\n${row.tool.tool}`
}

interface RowOptions {
  readonly servers: readonly AgentServer[]
  readonly stale: readonly string[]
  readonly search: string
  /** Servers whose tools are not shown. */
  readonly folded: ReadonlySet<string>
}

/** What the list shows: a search by server, tool and description, in any case. */
export function listRows({ servers, stale, search, folded }: RowOptions): readonly Row[] {
  const wanted = search.trim().toLowerCase()
  const rows: Row[] = stale
    .filter((selector) => selector.toLowerCase().includes(wanted))
    .map((selector) => ({ kind: 'stale', selector }))
  for (const server of servers) {
    const isServerFound = server.id.toLowerCase().includes(wanted)
    const shown = isServerFound ? server.tools : server.tools.filter((tool) => isToolFound(tool, wanted, server.id))
    if (!isServerFound && shown.length === 0) continue
    rows.push({ kind: 'server', server, shown })
    if (!folded.has(server.id)) for (const tool of shown) rows.push({ kind: 'tool', server, tool })
  }
  return rows
}

const isToolFound = ({ tool, title = '', description = '' }: AgentTool, wanted: string, server: string): boolean =>
  [`${server}/${tool}`, title, description].some((text) => text.toLowerCase().includes(wanted))
