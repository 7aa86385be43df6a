import { z } from '@hono/zod-openapi'
import type { PolicyValue } from '@sallyport/core'
import { NOT_ENFORCED_FIELDS, type ReviewedTool } from '../../pipeline/pipeline.ts'

const ruleSchema = z.object({ file: z.string(), line: z.number() })

const fieldSchema = z
  .object({
    field: z.string().openapi({ description: 'As tools.yaml calls it, such as `risk_level`.' }),
    value: z.unknown(),
    reason: z.string(),
    rule: ruleSchema.optional().openapi({ description: 'Where it is written, if it is.' }),
  })
  .openapi('PolicyField')

/** Everything that governs a tool, each value with why it is this one and where that is written. */
export const policySchema = z.array(fieldSchema)

export const entriesSchema = z.array(
  z.object({ key: z.string(), file: z.string(), line: z.number().int(), note: z.string().optional() }),
)

export type PolicyView = z.infer<typeof policySchema>
type FieldView = PolicyView[number]

export function policyView({ policy, entries }: Pick<ReviewedTool, 'policy' | 'entries'>, file: string): PolicyView {
  const ruled = Object.entries(policy).flatMap(([name, value]) => fieldViews(toFieldName(name), value))
  const written = entries.flatMap(({ fields, line, lines }) =>
    NOT_ENFORCED_FIELDS.filter((name) => fields[name] !== undefined).map((name) => ({
      field: toFieldName(name),
      value: fields[name],
      reason: 'as written, and not enforced yet',
      rule: { file, line: lines[name] ?? line },
    })),
  )
  return [...ruled, ...written]
}

export const entriesView = ({ entries }: Pick<ReviewedTool, 'entries'>, file: string): z.infer<typeof entriesSchema> =>
  entries.map(({ key, line, fields: { note } }) => ({ key, file, line, ...(note !== undefined && { note }) }))

const toFieldName = (name: string): string =>
  name === 'risk' ? 'risk_level' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A field holds one value, several that all count, or a plain list. */
function fieldViews(field: string, value: unknown): readonly FieldView[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return [ruledView(field, value as PolicyValue<unknown>)]
  if (value.length === 0) return []
  return value.every(isRuled)
    ? value.map((one: PolicyValue<unknown>) => ruledView(field, one))
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
