import { z } from '@hono/zod-openapi'
import type { Principal } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { type ProfileSettings, profileKey } from '../../config/config.ts'
import type { AdminContext } from '../admin-context.ts'

const profileFields = {
  title: z.string().optional(),
  selectedMcpTools: z
    .array(z.string())
    .optional()
    .openapi({ description: 'Selectors. Absent: all tools; empty: none.' }),
  inheritsSelection: z.literal(true).optional().openapi({
    description: 'The selection stands beside the variants of its agent, for all without one of their own.',
  }),
  tokenBudget: z.number().int().positive().optional(),
  session: z.string().optional(),
}

export const profileSchema = z
  .object({
    name: z.string().openapi({ description: 'Such as `claude-code.reviewer`.' }),
    agent: z.string(),
    variant: z.string().openapi({ description: 'As it is written in the file.' }),
    ...profileFields,
    clientApproval: z
      .boolean()
      .optional()
      .openapi({ description: 'Whether its client may approve. Absent: where `run` started it in a terminal.' }),
    line: z.number().int().openapi({ description: 'Of the selection, or of the variant, in the file.' }),
    tools: z.object({
      selected: z.number().int(),
      available: z.number().int(),
      unmatched: z.array(z.string()).openapi({ description: 'Selectors that match nothing that is known now.' }),
    }),
  })
  .openapi('Profile')

export type ProfileView = z.infer<typeof profileSchema>

export const agentToolsSchema = z
  .object({
    agent: z.string(),
    variant: z.string(),
    supportsMcp: z.boolean().openapi({ description: 'Where it is false there are no servers.' }),
    servers: z.array(
      z.object({
        id: z.string(),
        selected: z.enum(['all', 'some', 'none']),
        tools: z.array(
          z.object({
            name: z.string().openapi({ description: 'What clients call it.' }),
            canonical: z.string(),
            tool: z.string(),
            title: z.string().optional(),
            description: z.string().optional(),
            selected: z.boolean().openapi({ description: 'Whether the profile selects it.' }),
            offered: z.boolean().openapi({ description: 'Whether all other rules leave it, too.' }),
          }),
        ),
      }),
    ),
  })
  .openapi('AgentTools')

export type AgentTools = z.infer<typeof agentToolsSchema>

type ToolSources = Pick<AdminContext, 'catalog' | 'listings'>

/** What the file says of a profile, and what that comes to now. */
export function profileView(profile: ProfileSettings, { catalog, listings }: ToolSources): ProfileView {
  const { agent, variant, clientApproval, selectedMcpTools, inheritsSelection, place, ...more } = profile
  const { title, tokenBudget, session } = more
  const { tools } = catalog.snapshot
  const selection = listings.selection(selectedMcpTools)
  return {
    name: profileKey(agent, variant),
    ...{ agent, variant },
    ...(clientApproval !== undefined && { clientApproval }),
    ...(title !== undefined && { title }),
    ...(selectedMcpTools && { selectedMcpTools: [...selectedMcpTools] }),
    ...(inheritsSelection && { inheritsSelection }),
    ...(tokenBudget !== undefined && { tokenBudget }),
    ...(session !== undefined && { session }),
    line: place.line,
    tools: {
      selected: tools.filter((offer) => selection.includes(toToolRef(offer))).length,
      available: tools.length,
      unmatched: [...selection.unmatched],
    },
  }
}

export interface AgentToolsRequest {
  readonly principal: Principal
  readonly selectors: readonly string[] | undefined
}

/** Every server and tool, with what the selection makes of it. */
export function agentToolsView(
  { principal, selectors }: AgentToolsRequest,
  { catalog, listings }: ToolSources,
): AgentTools {
  const selection = listings.selection(selectors)
  const viewOf = (offer: Offer) => ({
    name: offer.wire,
    canonical: offer.recordName,
    tool: offer.name,
    ...titleAndDescription(offer),
    selected: selection.includes(toToolRef(offer)),
    offered: listings.decisionFor(offer, principal).outcome !== 'deny',
  })
  const byServer = new Map<string, ReturnType<typeof viewOf>[]>(catalog.servers.map((id) => [id, []]))
  for (const offer of catalog.snapshot.tools) byServer.get(offer.server)?.push(viewOf(offer))
  const servers = [...byServer].map(([id, tools]) => ({
    id,
    selected: selection.includesServer(id) ? selectionExtent(tools) : ('none' as const),
    tools,
  }))
  return { agent: principal.agent, variant: principal.profile, supportsMcp: true, servers }
}

const toToolRef = ({ server, name }: Offer) => ({ server, tool: name })

/** Of a server of which anything is selected; one that lists nothing is then selected whole. */
const selectionExtent = (tools: readonly { readonly selected: boolean }[]): 'all' | 'some' =>
  tools.every(({ selected }) => selected) ? 'all' : 'some'

function titleAndDescription({ definition: { title, description } }: Offer) {
  return { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) }
}
