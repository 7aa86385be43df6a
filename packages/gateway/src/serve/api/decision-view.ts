import { z } from '@hono/zod-openapi'
import { type Decision, ERRORS, type ErrorCode, STEP_NAMES, type StepVerdict } from '@sallyport/core'

const outcomeSchema = z.enum(['allow', 'ask', 'deny'])

const stepSchema = z
  .object({
    step: z.enum(STEP_NAMES),
    outcome: outcomeSchema,
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).optional(),
    reason: z.string().optional(),
    rule: z.object({ file: z.string(), line: z.number() }).optional(),
  })
  .openapi('Step')

/** The verdict of every step, in order, and the step that decided. */
export const decisionSchema = z
  .object({ outcome: outcomeSchema, steps: z.array(stepSchema), decidedBy: stepSchema.optional() })
  .openapi('Decision')

export type DecisionView = z.infer<typeof decisionSchema>

export function decisionView({ outcome, verdicts, decisive }: Decision): DecisionView {
  return { outcome, steps: verdicts.map(stepView), ...(decisive && { decidedBy: stepView(decisive) }) }
}

function stepView({ step, verdict }: StepVerdict): DecisionView['steps'][number] {
  const { outcome, reason, rule } = verdict
  return {
    step,
    outcome,
    ...(verdict.outcome === 'deny' && { code: verdict.code }),
    ...(reason !== undefined && { reason }),
    ...(rule !== undefined && { rule }),
  }
}
