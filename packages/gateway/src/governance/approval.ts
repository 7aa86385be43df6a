import type {
  Json,
  LoggedEvent,
  Permission,
  Principal,
  RiskLevel,
  RuleSource,
  SallyportEvent,
  SecretHandling,
} from '@sallyport/core'
import type { Store } from '../store/store.ts'

export const APPROVAL_ANSWERS = ['deny', 'once', 'session', 'always'] as const

/** `once` and `session` are valid for exactly these arguments and this definition; `always` changes tools.yaml. */
export type ApprovalAnswerKind = (typeof APPROVAL_ANSWERS)[number]

export interface ApprovalAnswer {
  readonly answer: ApprovalAnswerKind
  /** Who answered; `via` is the channel. */
  readonly by: string
  readonly via: 'api' | 'cli' | 'web' | 'client' | 'hook' | 'program'
  /** For a denial, the model sees this reason. */
  readonly why?: string | undefined
}

/** The answer that takes effect. */
export interface EffectiveAnswer extends ApprovalAnswer {
  /** Why tools.yaml could not be changed. In that case `always` is valid only once. */
  readonly unwritten?: string
  /** Why an approved call was not made. */
  readonly callError?: string
}

/** The call that somebody has to decide about. */
export interface ApprovalSubject {
  readonly callId: string
  readonly traceId: string
  readonly principal: Principal
  readonly server: string
  readonly method: string
  /** The name of the tool in records. */
  readonly tool: string
  readonly isMcp: boolean
  /** The arguments that the server would get. */
  readonly arguments: Json
  /** The arguments of the request of the agent, if they are not sent as the agent wrote them. */
  readonly written?: Json | undefined
  /** What happens to keys and tokens in the arguments. */
  readonly secrets: SecretHandling
  readonly permission: readonly Permission[]
  /** The digest of the tool's current definition: an approval is not valid for another definition. */
  readonly definition: string
  readonly risk: RiskLevel
  /** The session holds private data that this call may send out: only this one call can be approved. */
  readonly isForPrivateData?: true
  /** Why approval is needed; `rule` is the rule that requires it. */
  readonly reason: string
  readonly rule: RuleSource | undefined
}

export interface PendingApproval extends ApprovalSubject {
  readonly id: string
  readonly requestedAt: Date
  readonly expiresAt: Date
}

/** An approval that allows a call. */
export interface Grant {
  readonly approval: string
  readonly scope: Exclude<ApprovalAnswerKind, 'deny'>
  readonly by: string
  readonly via: ApprovalAnswer['via']
  /** The digest of the definition that was shown: the approval is not valid for another one. */
  readonly definition: string
  /** The approver knew that the session holds private data. */
  readonly isForPrivateData?: true
}

type Requested = Extract<LoggedEvent, { type: 'APPROVAL_REQUESTED' }>
type Expired = Extract<SallyportEvent, { type: 'APPROVAL_EXPIRED' }>

/** More than all requests that can be pending at once, plus those that are answered while one waits. */
const MAX_EVENTS_READ = 10_000

/** Creates the end events of requests that were pending when an earlier gateway was killed. Nothing else would end them. */
export async function findAbandonedApprovals(store: Pick<Store, 'find'>): Promise<readonly Expired[]> {
  const [started] = await store.find({ types: ['GATEWAY_STARTED'], limit: 1 })
  const types = ['APPROVAL_REQUESTED', 'APPROVAL_ANSWERED', 'APPROVAL_EXPIRED'] as const
  const events = await store.find({ types, limit: MAX_EVENTS_READ })
  const open = new Map<string, Requested>()
  // Requests of this gateway itself may still be answered.
  for (const event of events.filter(({ seq }) => seq < (started?.seq ?? 0))) {
    if (event.type === 'APPROVAL_REQUESTED') open.set(event.approval, event)
    else if ('approval' in event && event.approval !== undefined) open.delete(event.approval)
  }
  return [...open.values()].map(toExpired)
}

function toExpired(event: Requested): Expired {
  const { call_id, trace_id, user, agent, profile, session, server, method, tool_name, is_mcp, approval } = event
  const reason = 'The gateway ended before the end of this request was recorded.'
  const facts = { call_id, trace_id, user, agent, profile, session, server, method, tool_name, is_mcp }
  return { type: 'APPROVAL_EXPIRED', ...facts, approval, reason }
}
