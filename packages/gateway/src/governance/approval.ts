import type { Json, Principal, RiskLevel, RuleSource } from '@sallyport/core'

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
  readonly notMade?: string
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
  /** The digest of the tool's current definition: an approval is not valid for another definition. */
  readonly definition: string
  readonly risk: RiskLevel
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
}
