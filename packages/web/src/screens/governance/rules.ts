import { queryOptions } from '@tanstack/react-query'
import type { OfferView, RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'

/** In the topic of tools: a change of tools.yaml, or of what servers offer, refreshes it. */
export const rulesQuery = queryOptions({
  queryKey: ['tools', 'rules'],
  queryFn: async () => {
    const { path, tools } = await read(api['tools-file'].rules.$get())
    // What cannot be edited comes last.
    const sorted = (tools as readonly RuledTool[]).toSorted((a, b) => Number(!a.entry) - Number(!b.entry))
    return { path, tools: sorted }
  },
})

export const fileQuery = queryOptions({ queryKey: ['tools-file'], queryFn: () => read(api['tools-file'].$get()) })

export const offersQuery = queryOptions({
  queryKey: ['offers'],
  queryFn: async () => (await read(api.offers.$get({ query: {} }))).offers as readonly OfferView[],
})

export const RISKS: readonly RuledTool['risk']['value'][] = ['low', 'medium', 'high']

/** What a person searches by. Each filter is a parameter of the address. */
export interface RuleFilter {
  readonly text: string
  readonly server: string
  readonly risk: string
  readonly approval: string
  /** Where a value comes from: of these sources at least one. */
  readonly from: string
}

export const readFilter = (search: URLSearchParams): RuleFilter => ({
  text: search.get('q') ?? '',
  server: search.get('server') ?? '',
  risk: search.get('risk') ?? '',
  approval: search.get('approval') ?? '',
  from: search.get('from') ?? '',
})

/** The tools that every filter lets through. Every word of the text has to occur in the name. */
export function filterRules(tools: readonly RuledTool[], filter: RuleFilter): readonly RuledTool[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean)
  return tools.filter((tool) => {
    const name = `${tool.server}/${tool.tool}`.toLowerCase()
    return words.every((word) => name.includes(word)) && passesFilter(tool, filter)
  })
}

const passesFilter = (tool: RuledTool, { server, risk, approval, from }: RuleFilter): boolean =>
  (server === '' || tool.server === server) &&
  (risk === '' || tool.risk.value === risk) &&
  (approval === '' || asksAlways(tool) === (approval === 'asks')) &&
  (from === '' || sourcesOf(tool).has(from))

/** Findings that nobody has accepted ask a person, whatever the entry says. */
const asksAlways = ({ requiresApproval, openFindings }: RuledTool): boolean =>
  requiresApproval.value || openFindings > 0

const sourcesOf = ({ risk, permission, requiresApproval, sensitivity }: RuledTool): ReadonlySet<string> =>
  new Set([risk, permission, requiresApproval, ...(sensitivity ? [sensitivity] : [])].map(({ from }) => from))

export const needsReview = ({ pin, openFindings }: Pick<RuledTool, 'pin' | 'openFindings'>): boolean =>
  pin === 'changed' || openFindings > 0

/** For labels: names of servers can have any length. */
export const shortName = ({ server, tool }: Pick<RuledTool, 'server' | 'tool'>): string =>
  `${server}/${tool}`.slice(0, 150)
