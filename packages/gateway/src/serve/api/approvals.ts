import { createHash } from 'node:crypto'
import { createRoute, z } from '@hono/zod-openapi'
import { PERMISSIONS, RISK_LEVELS, SallyportError } from '@sallyport/core'
import {
  APPROVAL_ANSWERS,
  type ApprovalView,
  type EffectiveAnswer,
  type LineChange,
  type PendingApproval,
  toApprovalView,
} from '../../governance/governance.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES, requireRole, viaField } from './routes.ts'

const approvalSchema = z
  .object({
    id: z.string(),
    user: z.string(),
    agent: z.string(),
    profile: z.string(),
    session: z.string(),
    server: z.string(),
    tool: z.string().openapi({ description: 'Its canonical name.' }),
    method: z.string(),
    arguments: z
      .unknown()
      .openapi({ description: 'Complete, as the server would get them, with keys and tokens masked.' }),
    written: z
      .unknown()
      .optional()
      .openapi({ description: 'What the agent wrote, masked too, if that differs from `arguments`.' }),
    secrets: z.enum(['removed', 'hidden']).optional().openapi({
      description:
        '`removed`: keys and tokens are not sent either; `hidden`: they are sent. Missing if there are none.',
    }),
    permission: z.array(z.enum(PERMISSIONS)).openapi({ description: 'What the tool can do.' }),
    risk: z.enum(RISK_LEVELS),
    reason: z.string().openapi({ description: 'Why approval is needed.' }),
    rule: z.object({ file: z.string(), line: z.number() }).optional(),
    requestedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    callId: z.string(),
    traceId: z.string(),
    hash: z.string().openapi({ description: 'Of all the above. An answer names what the person has seen.' }),
  })
  .openapi('Approval')

const changeSchema = z
  .object({
    file: z.string(),
    line: z.number().openapi({ description: 'First line of the change.' }),
    removed: z.array(z.string()),
    added: z.array(z.string()),
  })
  .openapi('LineChange')

const answeredSchema = z
  .object({
    approval: approvalSchema,
    answer: z.enum(APPROVAL_ANSWERS).openapi({ description: 'The answer that takes effect.' }),
    unwritten: z.string().optional().openapi({
      description:
        'Why tools.yaml could not be changed. Then `always` takes effect as `once`, and no rule was written.',
    }),
    callError: z.string().optional().openapi({
      description: 'Why the approved call was not made, or how it failed immediately.',
    }),
    change: changeSchema.optional().openapi({ description: 'For `always`: the change of tools.yaml.' }),
  })
  .openapi('AnsweredApproval')

type ApprovalJson = z.infer<typeof approvalSchema>
/** With the hash that an answer names. */
export type ShownApproval = ApprovalView & Pick<ApprovalJson, 'hash'>
export type AnsweredApproval = z.infer<typeof answeredSchema>

const answerBody = strictInput({
  answer: z.enum(APPROVAL_ANSWERS).openapi({ description: '`once` and `session` apply only to these arguments.' }),
  why: z.string().max(500).optional().openapi({ description: 'For a denial, the model gets to see this.' }),
  hash: z.string().max(100).optional().openapi({
    description: '`hash` of what was shown. Needed to allow a call `via` web; checked if given.',
  }),
  via: viaField,
  dryRun: z.boolean().default(false).openapi({ description: 'Only return what `always` would write.' }),
})

const idParam = strictInput({ id: z.string().max(64) })

const listApprovals = createRoute({
  method: 'get',
  path: '/approvals',
  summary: 'The calls that are waiting for approval, newest last',
  responses: {
    200: jsonResponse(z.object({ approvals: z.array(approvalSchema) }), 'The pending approvals.'),
    ...PROBLEM_RESPONSES,
  },
})

const getApproval = createRoute({
  method: 'get',
  path: '/approvals/{id}',
  summary: 'One call that is waiting for approval',
  request: { params: idParam },
  responses: { 200: jsonResponse(approvalSchema, 'It is pending.'), ...PROBLEM_RESPONSES },
})

const answerApproval = createRoute({
  method: 'post',
  path: '/approvals/{id}',
  summary: 'Answer an approval request; only the first answer takes effect',
  request: {
    params: idParam,
    body: { required: true, content: { 'application/json': { schema: answerBody } } },
  },
  responses: { 200: jsonResponse(answeredSchema, 'It is answered, or would be.'), ...PROBLEM_RESPONSES },
})

export const approvalRoutes = ({ approving }: AdminContext) =>
  createRoutes()
    .openapi(listApprovals, async (c) => {
      const approvals = await approving.approvals.list()
      return c.json({ approvals: approvals.map(toApprovalJson) }, 200)
    })
    .openapi(getApproval, async (c) =>
      c.json(toApprovalJson(await approving.approvals.find(c.req.valid('param').id)), 200),
    )
    .openapi(answerApproval, async (c) => {
      const { id } = c.req.valid('param')
      const { answer, why, hash, via, dryRun } = c.req.valid('json')
      // It writes a rule for later calls.
      const by = requireRole(c.env, answer === 'always' ? 'operator' : 'approver').user
      const approval = await approving.approvals.find(id)
      checkShown(toApprovalJson(approval), { answer, hash, via })
      const change = answer === 'always' ? await approving.preview(approval, by) : undefined
      const given = { answer, by, via, ...(why && { why }) }
      const effective = dryRun ? given : await approving.approvals.answer(id, given)
      return c.json(answeredView(toApprovalJson(approval), effective, change), 200)
    })

/** The compiler cannot compare the recursive JSON type, so the schema declares `arguments` as `unknown`. */
function toApprovalJson(approval: PendingApproval): ApprovalJson {
  const view = toApprovalView(approval)
  const hash = createHash('sha256')
    .update(JSON.stringify([view, approval.definition]))
    .digest('hex')
  return { ...view, permission: [...view.permission], hash }
}

interface NamedAnswer {
  readonly answer: string
  readonly hash: string | undefined
  readonly via: string
}

/** A page may be old or show only a part: it allows exactly what it showed, or nothing. */
function checkShown(approval: ApprovalJson, { answer, hash, via }: NamedAnswer): void {
  if (hash === undefined && (via !== 'web' || answer === 'deny')) return
  if (hash === approval.hash) return
  throw new SallyportError(
    'INVALID_PARAMS',
    `The hash is not that of the request ${approval.id}: nothing is answered.`,
    {
      hint: 'Read the request again, and show it again.',
    },
  )
}

function answeredView(
  approval: ApprovalJson,
  { answer, unwritten, callError }: Pick<EffectiveAnswer, 'answer' | 'unwritten' | 'callError'>,
  change: LineChange | undefined,
): AnsweredApproval {
  const answered = { approval, answer, ...(callError !== undefined && { callError }) }
  if (unwritten !== undefined) return { ...answered, unwritten }
  if (!change) return answered
  return { ...answered, change: { ...change, removed: [...change.removed], added: [...change.added] } }
}
