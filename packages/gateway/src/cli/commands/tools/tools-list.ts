import { BUILT_IN_SERVER, findClosest, RISK_LEVELS, type RiskLevel, SallyportError } from '@sallyport/core'
import type { CliContext } from '../../cli-context.ts'
import { defineCommand } from '../../define-command.ts'
import type { GatewayClient, ToolQuery, ToolView } from '../../gateway/gateway-client.ts'
import { findUnavailableServers, formatUnavailable } from '../../gateway/unavailable-servers.ts'
import { waitForServers } from '../../gateway/wait-for-servers.ts'
import { withGateway } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { createChoiceParser } from '../../terminal/choice-parser.ts'
import type { Example } from '../../terminal/help-text.ts'
import { createScreen } from '../../terminal/screen.ts'
import type { Column } from '../../terminal/table.ts'
import { type Style, visibleLine } from '../../terminal/terminal-text.ts'

interface ListFlags {
  readonly server?: string
  readonly risk?: RiskLevel
  readonly drift?: boolean
}

export const LIST_EXAMPLES: readonly Example[] = [
  ['tools', 'All tools of all servers'],
  ["tools 'github/*issue*'", 'Those whose name matches'],
  ['tools --server github --risk high', 'Those of one server that can do harm'],
]

export const listCommand = defineCommand<ListFlags, string[]>({
  brief: 'List tools with their risk and rules, and show which are not offered and why',
  examples: [...LIST_EXAMPLES, ['tools --drift', 'Those that are not what was reviewed']],
  flags: {
    server: { kind: 'parsed', parse: String, optional: true, placeholder: 'name', brief: 'Only those of this server' },
    risk: {
      kind: 'parsed',
      parse: createChoiceParser(RISK_LEVELS),
      optional: true,
      placeholder: 'level',
      brief: `Only those of this risk: ${RISK_LEVELS.join(', ')}`,
    },
    drift: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Only those whose definition changed after it was reviewed',
    },
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'A name in any form, or a glob over names', placeholder: 'tool', parse: String },
  },
  run: listTools,
})

async function listTools(context: CliContext, flags: ListFlags & GlobalFlags, ...patterns: string[]): Promise<void> {
  const screen = createScreen(context, flags)
  const { signal } = context
  const { server, risk, drift } = flags
  const { tools, others, servers } = await withGateway(context, flags, async (client, age) => {
    // An unknown server is an error, not an empty list.
    if (server !== undefined) await client.server(server, signal)
    // The stored tools of a server are offered at once, but may not be what it offers now.
    const servers = await (age === 'fresh' ? waitForServers(client, signal) : client.servers(signal))
    const scope = { ...(server !== undefined && { server }), ...(risk && { risk }), ...(drift && DRIFT_QUERY) }
    const others = drift && patterns.length === 0 ? await client.driftedOffers(signal) : []
    return { tools: await findMatchingTools(client, { patterns, scope, signal }), others, servers }
  })
  if (screen.json) return screen.printJson({ tools, ...(others.length > 0 && { others }) })
  for (const { name } of others)
    screen.printMessage(`${visibleLine(name)} was changed by its server: sallyport tools accept`)
  for (const unavailable of findUnavailableServers(servers))
    if (server === undefined || server === unavailable.id)
      screen.printMessage(formatUnavailable(unavailable, UNAVAILABLE_EFFECT))
  if (tools.length === 0 && others.length > 0) return
  if (tools.length === 0) return screen.printMessage(emptyMessage(flags))
  screen.printTable(COLUMNS, tools)
}

const UNAVAILABLE_EFFECT = 'What it offers now is not known.'
const DRIFT_QUERY = { pin: 'changed' } as const

const emptyMessage = ({ server, risk, drift }: ListFlags): string => {
  if (drift) return 'None of them was changed since it was reviewed.'
  if (server !== undefined || risk !== undefined) return 'There are no such tools.'
  return 'There are no tools. `sallyport servers` shows the state of the servers.'
}

interface MatchOptions {
  readonly patterns: readonly string[]
  readonly scope: ToolQuery
  readonly signal: AbortSignal
}

async function findMatchingTools(client: GatewayClient, { patterns, scope, signal }: MatchOptions) {
  if (patterns.length === 0) return client.tools(scope, signal)
  const found = new Map<string, ToolView>()
  for (const match of patterns) {
    const tools = await client.tools({ ...scope, match }, signal)
    // A tool that exists, but with another risk or server, does not mean that the name is misspelt.
    if (tools.length === 0 && (await client.tools({ match }, signal)).length === 0) throw noMatch(match)
    for (const tool of tools) found.set(tool.canonical, tool)
  }
  return [...found.values()]
}

function noMatch(typed: string): SallyportError {
  const command = findClosest(typed, ['list', 'show', 'accept', 'check', 'cost', 'savings'])
  const meant = command === undefined ? '' : ` Did you mean \`sallyport tools ${command}\`?`
  return new SallyportError('TOOL_UNKNOWN', `No tool matches "${typed}".${meant}`, {
    hint: 'See `sallyport tools` for all of them.',
  })
}

const COLUMNS: readonly Column<ToolView>[] = [
  {
    title: 'TOOL',
    value: ({ server, tool }) => `${server}/${tool}`,
    paint: ({ offered }, style) => (offered ? style.bold : style.dim),
  },
  { title: 'RISK', value: ({ risk }) => risk, paint: ({ risk }, style) => riskColor(risk, style) },
  { title: 'APPROVAL', value: ({ requiresApproval }) => (requiresApproval ? 'yes' : 'no') },
  { title: 'NOTES', value: listNotes, paint: ({ pin }, style) => (pin === 'changed' ? style.red : style.yellow) },
  { title: 'PERMISSION', value: ({ permission }) => permission.join(',') },
  { title: 'MODES', value: ({ allowedInModes }) => allowedInModes.join(',') || 'none', flexible: true },
  {
    title: 'LISTED',
    value: ({ offered, decidedBy }) => (offered ? 'yes' : `no: ${decidedBy?.reason ?? ''}`),
    flexible: true,
  },
  { title: 'LISTED AS', value: ({ name }) => name, expendable: true },
  { title: 'SOURCE', value: ({ source }) => source, expendable: true },
  {
    title: 'DESCRIPTION',
    value: ({ title, description }) => title ?? firstLine(description),
    ...{ flexible: true, expendable: true },
  },
]

function riskColor(risk: RiskLevel, style: Style): (text: string) => string {
  if (risk === 'low') return style.green
  return risk === 'high' ? style.red : style.yellow
}

/** The gateway's own tools need no entry. */
function listNotes({ hasEntry, pin, findings, server }: ToolView): string {
  const isNew = !hasEntry && server !== BUILT_IN_SERVER
  const notes = [isNew && 'new', pin === 'changed' && 'changed', findings.length > 0 && 'suspicious']
  return notes.filter((note) => note !== false).join(',')
}

const firstLine = (text: string | undefined): string | undefined => text?.trim().split('\n')[0]
