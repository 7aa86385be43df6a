import { z } from '@hono/zod-openapi'
import { type Decision, isJsonObject, type JsonObject } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { decisionSchema, decisionView } from './decision-view.ts'

/** An object that is passed through as it came. */
export const looseObject = z
  .custom<Record<string, unknown>>(isJsonObject, 'expected an object')
  .openapi({ type: 'object', additionalProperties: true })

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
    decidedBy: decisionSchema.shape.decidedBy.openapi({ description: 'Why it is not offered, or not without asking.' }),
  })
  .openapi('Tool')

export const toolDetailSchema = toolSchema
  .extend({
    definition: looseObject.openapi({ description: 'As its server wrote it, under the name that clients see.' }),
    decision: decisionSchema,
  })
  .openapi('ToolDetail')

export type ToolView = z.infer<typeof toolSchema>
export type ToolDetail = z.infer<typeof toolDetailSchema>

export function toolView(offer: Offer, decision: Decision): ToolView {
  const { decidedBy } = decisionView(decision)
  const { description, annotations } = offer.definition
  const title = titleOf(offer.definition)
  return {
    name: offer.wire,
    canonical: offer.recordName,
    server: offer.server,
    tool: offer.name,
    ...(title !== undefined && { title }),
    ...(typeof description === 'string' && { description }),
    ...(isJsonObject(annotations) && { annotations }),
    offered: decision.outcome !== 'deny',
    ...(decidedBy && { decidedBy }),
  }
}

export function toolDetail(offer: Offer, decision: Decision): ToolDetail {
  return { ...toolView(offer, decision), definition: offer.definition, decision: decisionView(decision) }
}

/** Older servers put it among the annotations. */
function titleOf({ title, annotations }: JsonObject): string | undefined {
  const found = title ?? (isJsonObject(annotations) ? annotations.title : undefined)
  return typeof found === 'string' ? found : undefined
}
