import { closest, isJsonObject, SallyportError } from '@sallyport/core'
import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { GatewayClient, ToolDetail, ToolView } from '../gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { type Example, withOverview } from '../help-text.ts'
import { withGateway } from '../reach-gateway.ts'
import { createScreen, type Screen } from '../screen.ts'
import type { Column } from '../table.ts'
import { visibleLine, visibleLines } from '../terminal-text.ts'

interface ListFlags {
  readonly server?: string
}

const LIST_EXAMPLES: readonly Example[] = [
  ['tools', 'All tools of all servers'],
  ["tools 'github/*issue*'", 'Those whose name matches'],
  ['tools --server github', 'Those of one server'],
]

const listCommand = defineCommand<ListFlags, string[]>({
  brief: 'List tools, and say which are not offered and why',
  examples: LIST_EXAMPLES,
  flags: {
    server: { kind: 'parsed', parse: String, optional: true, placeholder: 'name', brief: 'Only those of this server' },
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'A name in any form, or a glob over names', placeholder: 'tool', parse: String },
  },
  run: listTools,
})

const showCommand = defineCommand<object, [string]>({
  brief: 'Show one tool: what it does, what it takes, and the rules that apply',
  examples: [
    ['tools show github/create_issue', 'By server and tool'],
    ['tools show create_issue --json', 'By its own name, where only one server has it; with the whole definition'],
  ],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'Its name in any form', placeholder: 'tool', parse: String }],
  },
  run: async (context, flags, name) => {
    const screen = createScreen(context, flags)
    const tool = await withGateway(context, flags, (client) => client.tool(name, context.signal))
    if (screen.json) return screen.dataJson(tool)
    showTool(screen, tool)
  },
})

export const toolsCommands = withOverview(
  buildRouteMap<'list' | 'show', CliContext>({
    routes: Object.assign(Object.create(null), { list: listCommand, show: showCommand }),
    defaultCommand: 'list',
    docs: { brief: 'List and show the tools of all servers' },
  }),
  [...LIST_EXAMPLES, ['tools show github/create_issue', 'One tool: what it does and what it takes']],
)

async function listTools(context: CliContext, flags: ListFlags & GlobalFlags, ...patterns: string[]): Promise<void> {
  const screen = createScreen(context, flags)
  const tools = await withGateway(context, flags, async (client) => {
    const { server } = flags
    // An unknown server is a mistake and not an empty list.
    if (server !== undefined) await client.server(server, context.signal)
    return matchingTools(client, { patterns, server, signal: context.signal })
  })
  if (screen.json) return screen.dataJson({ tools })
  if (tools.length === 0) return screen.say('There are no tools. `sallyport servers` shows how the servers are.')
  screen.table(COLUMNS, tools)
}

interface Matching {
  readonly patterns: readonly string[]
  readonly server: string | undefined
  readonly signal: AbortSignal
}

async function matchingTools(client: GatewayClient, { patterns, server, signal }: Matching) {
  const scope = server === undefined ? {} : { server }
  if (patterns.length === 0) return client.tools(scope, signal)
  const found = new Map<string, ToolView>()
  for (const match of patterns) {
    const tools = await client.tools({ ...scope, match }, signal)
    if (tools.length === 0) throw noMatch(match)
    for (const tool of tools) found.set(tool.canonical, tool)
  }
  return [...found.values()]
}

function noMatch(typed: string): SallyportError {
  const command = closest(typed, ['list', 'show'])
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
  { title: 'CALLED', value: ({ name }) => name },
  {
    title: 'OFFERED',
    value: ({ offered, decidedBy }) => (offered ? 'yes' : `no: ${decidedBy?.reason ?? ''}`),
    flexible: true,
  },
  { title: 'DESCRIPTION', value: ({ title, description }) => title ?? firstLine(description), flexible: true },
]

const firstLine = (text: string | undefined): string | undefined => text?.trim().split('\n')[0]

function showTool(screen: Screen, tool: ToolDetail): void {
  const { decidedBy } = tool
  const rule = decidedBy?.rule && ` (${decidedBy.rule.file}:${decidedBy.rule.line})`
  screen.facts([
    { name: 'tool', value: visibleLine(`${tool.server}/${tool.tool}`) },
    { name: 'called', value: tool.name },
    { name: 'rules call it', value: visibleLine(tool.canonical) },
    { name: 'title', value: tool.title && visibleLine(tool.title) },
    { name: 'offered', value: tool.offered ? 'yes' : `no: ${visibleLine(decidedBy?.reason ?? '')}${rule ?? ''}` },
    { name: 'its server says', value: tool.annotations && visibleLine(JSON.stringify(tool.annotations)) },
    { name: 'description', value: tool.description && visibleLines(tool.description.trim()) },
    { name: 'takes', value: takes(tool.definition.inputSchema) },
  ])
}

/** The arguments by name; the whole schema is there with --json. */
function takes(schema: unknown): string {
  const properties = isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : {}
  const required = isJsonObject(schema) && Array.isArray(schema.required) ? schema.required : []
  const lines = Object.entries(properties).map(([name, value]) => {
    const { type, description } = isJsonObject(value) ? value : {}
    const kind = [typeof type === 'string' ? type : 'any', ...(required.includes(name) ? ['required'] : [])].join(', ')
    return visibleLine(`${name} (${kind})${typeof description === 'string' ? `: ${description}` : ''}`)
  })
  return lines.length === 0 ? 'no arguments' : lines.join('\n')
}
