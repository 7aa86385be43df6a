import { createRoute, z } from '@hono/zod-openapi'
import {
  type Decision,
  estimateToolTokens,
  isJsonObject,
  type JsonObject,
  MODES,
  PERMISSIONS,
  type PolicyValue,
  type Principal,
  RISK_LEVELS,
} from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { PIN_STATES, type ReviewedTool, type ToolReview } from '../../pipeline/pipeline.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { decisionSchema, decisionView } from './decision-view.ts'
import { findTool, waitForServers } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { looseObject } from './loose-object.ts'
import { definitionSchema, definitionView } from './offers.ts'
import { callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'

const ruleSchema = z.object({ file: z.string(), line: z.number() })

const fieldSchema = z
  .object({
    field: z.string().openapi({ description: 'Its name in tools.yaml, such as `risk_level`.' }),
    value: z.unknown(),
    reason: z.string(),
    rule: ruleSchema.optional().openapi({ description: 'Where it is defined, if it is.' }),
  })
  .openapi('PolicyField')

/** Every field that governs a tool, with its value, the reason for it, and where it is defined. */
const policySchema = z.array(fieldSchema)

const entriesSchema = z.array(
  z.object({ key: z.string(), file: z.string(), line: z.number().int(), note: z.string().optional() }),
)

type PolicyView = z.infer<typeof policySchema>
type FieldView = PolicyView[number]

const policyView = ({ policy }: Pick<ReviewedTool, 'policy'>): PolicyView =>
  Object.entries(policy).flatMap(([name, value]) => fieldViews(toFieldName(name), value))

const entriesView = ({ entries }: Pick<ReviewedTool, 'entries'>, file: string): z.infer<typeof entriesSchema> =>
  entries.map(({ key, line, fields: { note } }) => ({ key, file, line, ...(note !== undefined && { note }) }))

export const toFieldName = (name: string): string =>
  name === 'risk' ? 'risk_level' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A field has one value, several values that all apply, or a plain list. */
function fieldViews(field: string, value: unknown): readonly FieldView[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return [ruledView(field, value as PolicyValue<unknown>)]
  if (value.length === 0) return []
  return value.every(isRuled)
    ? value.map((entry: PolicyValue<unknown>) => ruledView(field, entry))
    : [{ field, value, reason: 'as written' }]
}

const isRuled = (value: unknown): value is PolicyValue<unknown> =>
  typeof value === 'object' && value !== null && 'reason' in value && 'value' in value

const ruledView = (field: string, { value, reason, rule }: PolicyValue<unknown>): FieldView => ({
  field,
  value,
  reason,
  ...(rule && { rule }),
})

const SOURCES = ['tools.yaml', 'config.yaml', 'inferred'] as const

const toolSchema = z
  .object({
    name: z.string().openapi({ description: 'Its name for clients.' }),
    canonical: z.string().openapi({ description: 'Its name in rules and records.' }),
    server: z.string(),
    tool: z.string().openapi({ description: 'Its name on its server.' }),
    title: z.string().optional(),
    description: z.string().optional(),
    annotations: looseObject.optional(),
    offered: z.boolean(),
    tokens: z.number().openapi({ description: 'Estimated tokens that its definition costs an agent in every turn.' }),
    risk: z.enum(RISK_LEVELS),
    permission: z.array(z.enum(PERMISSIONS)),
    requiresApproval: z.boolean(),
    allowedInModes: z.array(z.enum(MODES)),
    source: z.enum(SOURCES).openapi({ description: 'Where the risk level comes from.' }),
    hasEntry: z.boolean().openapi({ description: 'Whether tools.yaml has an entry for just this tool.' }),
    pin: z
      .enum(PIN_STATES)
      .openapi({ description: '`changed`: it differs from what was reviewed, and cannot be called.' }),
    findings: z.array(z.string()).openapi({ description: 'What is suspicious about its definition.' }),
    openFindings: z
      .array(z.string())
      .openapi({ description: 'Findings that nobody has accepted yet: each call needs approval.' }),
    decidedBy: decisionSchema.shape.decidedBy.openapi({ description: 'Why it is not offered, or needs approval.' }),
  })
  .openapi('Tool')

const toolDetailSchema = toolSchema
  .extend({
    definition: looseObject.openapi({ description: 'The server’s definition, with the name that clients see.' }),
    decision: decisionSchema,
    policy: policySchema.openapi({ description: 'Every field in force.' }),
    entries: entriesSchema.openapi({ description: 'The entries of tools.yaml that match it.' }),
    review: definitionSchema,
  })
  .openapi('ToolDetail')

export type ToolView = z.infer<typeof toolSchema>
export type ToolDetail = z.infer<typeof toolDetailSchema>

interface InspectedTool {
  readonly offer: Offer
  readonly decision: Decision
  readonly review: ReviewedTool
}

function toolView({ offer, decision, review }: InspectedTool): ToolView {
  const { decidedBy } = decisionView(decision)
  const { description, annotations } = offer.definition
  const title = readTitle(offer.definition)
  return {
    name: offer.wire,
    canonical: offer.recordName,
    server: offer.server,
    tool: offer.name,
    ...(title !== undefined && { title }),
    ...(typeof description === 'string' && { description }),
    ...(isJsonObject(annotations) && { annotations }),
    offered: decision.outcome !== 'deny',
    tokens: countToolTokens(offer),
    ...governedView(review),
    ...(decidedBy && { decidedBy }),
  }
}

/** Caches the count for as long as the server offers the definition. */
const TOKEN_COUNTS = new WeakMap<object, number>()

export function countToolTokens({ wire, definition }: Offer): number {
  const known = TOKEN_COUNTS.get(definition)
  if (known !== undefined) return known
  const tokens = estimateToolTokens(wire, definition)
  TOKEN_COUNTS.set(definition, tokens)
  return tokens
}

export function governedView({ policy, entries, hasOwnEntry, pin, findings, openFindings }: ReviewedTool) {
  const { risk } = policy
  const isEntry = entries.some(({ fields }) => fields.riskLevel !== undefined)
  return {
    risk: risk.value,
    permission: [...policy.permission.value],
    requiresApproval: policy.requiresApproval.value || openFindings.length > 0,
    allowedInModes: [...policy.allowedInModes.value],
    source: risk.rule === undefined ? SOURCES[2] : SOURCES[isEntry ? 0 : 1],
    hasEntry: hasOwnEntry,
    pin,
    findings: [...findings],
    openFindings: [...openFindings],
  }
}

function toolDetail(tool: InspectedTool, review: ToolReview): ToolDetail {
  const { offer, decision } = tool
  return {
    ...toolView(tool),
    definition: offer.definition,
    decision: decisionView(decision),
    policy: policyView(tool.review),
    entries: entriesView(tool.review, review.path),
    review: definitionView(review.definitionOf(offer)),
  }
}

/** Older servers put the title among the annotations. */
function readTitle({ title, annotations }: JsonObject): string | undefined {
  const found = title ?? (isJsonObject(annotations) ? annotations.title : undefined)
  return typeof found === 'string' ? found : undefined
}

const listQuery = strictInput({
  server: z.string().optional(),
  match: z.string().max(500).optional().openapi({ description: 'Any form of a name, or a glob.' }),
  risk: z.enum(RISK_LEVELS).optional(),
  pin: z.enum(['changed']).optional().openapi({ description: 'Only those that differ from what was reviewed.' }),
})

const nameParam = strictInput({ name: z.string().max(500) })

const listTools = createRoute({
  method: 'get',
  path: '/tools',
  summary: 'The tools of all servers, offered or not',
  request: { query: listQuery },
  responses: {
    200: jsonResponse(z.object({ tools: z.array(toolSchema) }), 'The matching tools.'),
    ...PROBLEM_RESPONSES,
  },
})

const getTool = createRoute({
  method: 'get',
  path: '/tools/{name}',
  summary: 'One tool, by its canonical, wire or unique bare name, or as server%2Ftool',
  request: { params: nameParam },
  responses: {
    200: jsonResponse(toolDetailSchema, 'Its definition, its rules, and the decision about it.'),
    ...PROBLEM_RESPONSES,
  },
})

const acceptBody = strictInput({
  pin: z
    .string()
    .max(200)
    .openapi({ description: '`review.now` of the definition that was shown to the person who accepts it.' }),
  via: viaField,
})

const acceptTool = createRoute({
  method: 'post',
  path: '/tools/{name}/accept',
  summary: 'Accept the current definition of a tool',
  request: { params: nameParam, body: { required: true, content: { 'application/json': { schema: acceptBody } } } },
  responses: { 200: jsonResponse(toolDetailSchema, 'The tool after the change.'), ...PROBLEM_RESPONSES },
})

export const toolRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(listTools, async (c) => {
      await waitForServers(context)
      return c.json({ tools: listMatchingTools(callerOf(c.env), context, c.req.valid('query')) }, 200)
    })
    .openapi(getTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      return c.json(toolDetail(inspectTool(context, offer, callerOf(c.env)), context.review), 200)
    })
    .openapi(acceptTool, async (c) => {
      const offer = await findTool(context, c.req.valid('param').name)
      const { pin: shown, via } = c.req.valid('json')
      const operator = callerOf(c.env)
      await context.review.accept(offer, { shown, via, by: operator.user })
      return c.json(toolDetail(inspectTool(context, offer, operator), context.review), 200)
    })

const inspectTool = ({ listings, review }: AdminContext, offer: Offer, principal: Principal): InspectedTool => ({
  offer,
  decision: listings.decisionFor(offer, principal),
  review: review.reviewOf(offer),
})

function listMatchingTools(principal: Principal, context: AdminContext, query: z.infer<typeof listQuery>): ToolView[] {
  const { allTools: tools, toolNames } = context.catalog.snapshot
  const wires = query.match && new Set(toolNames.find(query.match).map((ref) => toolNames.wireName(ref)))
  return tools
    .filter((offer) => (!query.server || offer.server === query.server) && (!wires || wires.has(offer.wire)))
    .map((offer) => toolView(inspectTool(context, offer, principal)))
    .filter(({ risk, pin }) => (!query.risk || risk === query.risk) && (!query.pin || pin === query.pin))
}
