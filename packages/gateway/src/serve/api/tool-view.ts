import { z } from '@hono/zod-openapi'
import {
  type Decision,
  estimateToolTokens,
  isJsonObject,
  type JsonObject,
  MODES,
  PERMISSIONS,
  RISK_LEVELS,
} from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { PIN_STATES, type ReviewedTool, type ToolReview } from '../../pipeline/pipeline.ts'
import { decisionSchema, decisionView } from './decision-view.ts'
import { definitionSchema, definitionView } from './definition-view.ts'
import { looseObject } from './loose-object.ts'
import { entriesSchema, entriesView, policySchema, policyView } from './policy-view.ts'

const SOURCES = ['tools.yaml', 'config.yaml', 'inferred'] as const

export const toolSchema = z
  .object({
    name: z.string().openapi({ description: 'What clients call it.' }),
    canonical: z.string().openapi({ description: 'What rules and records call it.' }),
    server: z.string(),
    tool: z.string().openapi({ description: 'What its server calls it.' }),
    title: z.string().optional(),
    description: z.string().optional(),
    annotations: looseObject.optional(),
    offered: z.boolean(),
    tokens: z.number().openapi({ description: 'What its definition costs an agent in every turn: an estimate.' }),
    risk: z.enum(RISK_LEVELS),
    permission: z.array(z.enum(PERMISSIONS)),
    requiresApproval: z.boolean(),
    allowedInModes: z.array(z.enum(MODES)),
    source: z.enum(SOURCES).openapi({ description: 'Who says of what risk it is.' }),
    written: z.boolean().openapi({ description: 'Whether tools.yaml has an entry for just this tool.' }),
    pin: z.enum(PIN_STATES).openapi({ description: '`changed`: it is not what was reviewed, and cannot be called.' }),
    findings: z.array(z.string()).openapi({ description: 'What is suspicious about its definition.' }),
    doubts: z.array(z.string()).openapi({ description: 'Findings that nobody has accepted: each call asks.' }),
    decidedBy: decisionSchema.shape.decidedBy.openapi({ description: 'Why it is not offered, or not without asking.' }),
  })
  .openapi('Tool')

export const toolDetailSchema = toolSchema
  .extend({
    definition: looseObject.openapi({ description: 'As its server wrote it, under the name that clients see.' }),
    decision: decisionSchema,
    policy: policySchema.openapi({ description: 'Every field in force.' }),
    entries: entriesSchema.openapi({ description: 'The entries of tools.yaml that are about it.' }),
    review: definitionSchema,
  })
  .openapi('ToolDetail')

export type ToolView = z.infer<typeof toolSchema>
export type ToolDetail = z.infer<typeof toolDetailSchema>

export interface InspectedTool {
  readonly offer: Offer
  readonly decision: Decision
  readonly review: ReviewedTool
}

export function toolView({ offer, decision, review }: InspectedTool): ToolView {
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

/** A definition is counted once, as long as its server offers it. */
const TOKEN_COUNTS = new WeakMap<object, number>()

function countToolTokens({ wire, definition }: Offer): number {
  const known = TOKEN_COUNTS.get(definition)
  if (known !== undefined) return known
  const tokens = estimateToolTokens(wire, definition)
  TOKEN_COUNTS.set(definition, tokens)
  return tokens
}

function governedView({ policy, entries, hasOwnEntry, pin, findings, doubts }: ReviewedTool) {
  const { risk } = policy
  const isEntry = entries.some(({ fields }) => fields.riskLevel !== undefined)
  return {
    risk: risk.value,
    permission: [...policy.permission.value],
    requiresApproval: policy.requiresApproval.value || doubts.length > 0,
    allowedInModes: [...policy.allowedInModes.value],
    source: risk.rule === undefined ? SOURCES[2] : SOURCES[isEntry ? 0 : 1],
    written: hasOwnEntry,
    pin,
    findings: [...findings],
    doubts: [...doubts],
  }
}

export function toolDetail(sight: InspectedTool, review: ToolReview): ToolDetail {
  const { offer, decision } = sight
  return {
    ...toolView(sight),
    definition: offer.definition,
    decision: decisionView(decision),
    policy: policyView(sight.review, review.path),
    entries: entriesView(sight.review, review.path),
    review: definitionView(review.definitionOf(offer)),
  }
}

/** Older servers put it among the annotations. */
function readTitle({ title, annotations }: JsonObject): string | undefined {
  const found = title ?? (isJsonObject(annotations) ? annotations.title : undefined)
  return typeof found === 'string' ? found : undefined
}
