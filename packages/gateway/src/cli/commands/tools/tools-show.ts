import { isJsonObject, quoteForShell } from '@sallyport/core'
import { formatRuleLocation } from '../../audit/rule-location.ts'
import { defineCommand } from '../../define-command.ts'
import type { ToolDetail } from '../../gateway/gateway-client.ts'
import { waitForServers } from '../../gateway/wait-for-servers.ts'
import { withGateway } from '../../gateway/with-gateway.ts'
import { createScreen, type Screen } from '../../terminal/screen.ts'
import type { Column } from '../../terminal/table.ts'
import { visibleLine, visibleLines } from '../../terminal/terminal-text.ts'

export const showCommand = defineCommand<object, [string]>({
  brief: 'Show one tool: what it does, what it takes, and every rule in force with its location',
  examples: [
    ['tools show github/create_issue', 'By server and tool'],
    ['tools show create_issue --json', 'By its own name, if only one server has it; with the whole definition'],
  ],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'Its name in any form', placeholder: 'tool', parse: String }],
  },
  run: async (context, flags, name) => {
    const screen = createScreen(context, flags)
    const tool = await withGateway(context, flags, async (client, age) => {
      if (age === 'fresh') await waitForServers(client, context.signal)
      return client.tool(name, context.signal)
    })
    if (screen.json) return screen.printJson(tool)
    showTool(screen, tool)
  },
})

function showTool(screen: Screen, tool: ToolDetail): void {
  const { decidedBy } = tool
  screen.printFacts([
    { name: 'tool', value: visibleLine(`${tool.server}/${tool.tool}`) },
    { name: 'called', value: tool.name },
    { name: 'canonical name', value: visibleLine(tool.canonical) },
    { name: 'title', value: tool.title && visibleLine(tool.title) },
    {
      name: 'offered',
      value: tool.offered ? 'yes' : `no: ${visibleLine(decidedBy?.reason ?? '')}${formatLocation(decidedBy?.rule)}`,
    },
    { name: 'annotations', value: tool.annotations && visibleLine(JSON.stringify(tool.annotations)) },
    { name: 'description', value: tool.description && visibleLines(tool.description.trim()) },
    { name: 'takes', value: formatParameters(tool.definition.inputSchema) },
    { name: 'pin', value: pinText(tool) },
    { name: 'suspicious', value: lines(tool.findings.map(visibleLine)) },
    { name: 'not accepted', value: lines(tool.openFindings.map(visibleLine)) },
    { name: 'entries', value: lines(tool.entries.map(entryText)) ?? 'none: its risk is derived from its name' },
  ])
  screen.print('\n')
  screen.printTable(FIELDS, tool.policy)
}

const FIELDS: readonly Column<ToolDetail['policy'][number]>[] = [
  { title: 'FIELD', value: ({ field }) => field },
  { title: 'VALUE', value: ({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)), flexible: true },
  { title: 'BECAUSE', value: ({ reason, rule }) => `${reason}${formatLocation(rule)}`, flexible: true },
]

const formatLocation = (rule: { readonly file: string; readonly line: number } | undefined): string =>
  rule === undefined ? '' : ` (${formatRuleLocation(rule)})`

const lines = (texts: readonly string[]): string | undefined => (texts.length === 0 ? undefined : texts.join('\n'))

const entryText = ({ key, file, line, note }: ToolDetail['entries'][number]): string =>
  visibleLine(`${key} (${file}:${line})${note === undefined ? '' : `: ${note}`}`)

function pinText({ pin, canonical, review }: ToolDetail): string {
  if (pin === 'pinned') return 'it is what was reviewed'
  if (pin === 'unpinned')
    return `none: its server can change it. Pin it: sallyport tools accept ${quoteForShell(canonical)}`
  const notStored = review.reviewed === undefined ? ', and the reviewed definition was not stored' : ''
  return `its server changed it after it was reviewed${notStored}. See and accept it: sallyport tools accept ${quoteForShell(canonical)}`
}

/** The arguments by name; --json shows the whole schema. */
function formatParameters(schema: unknown): string {
  const properties = isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : {}
  const required = isJsonObject(schema) && Array.isArray(schema.required) ? schema.required : []
  const shown = Object.entries(properties).map(([name, value]) => {
    const { type, description } = isJsonObject(value) ? value : {}
    const kind = [typeof type === 'string' ? type : 'any', ...(required.includes(name) ? ['required'] : [])].join(', ')
    return visibleLine(`${name} (${kind})${typeof description === 'string' ? `: ${description}` : ''}`)
  })
  return shown.length === 0 ? 'no arguments' : shown.join('\n')
}
