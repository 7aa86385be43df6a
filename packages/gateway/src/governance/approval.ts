import type { Json, Principal, RiskLevel, RuleSource } from '@sallyport/core'

export const APPROVAL_ANSWERS = ['deny', 'once', 'session', 'always'] as const

/** `once` and `session` hold for these very arguments and this definition; `always` changes tools.yaml. */
export type ApprovalAnswerKind = (typeof APPROVAL_ANSWERS)[number]

export interface ApprovalAnswer {
  readonly answer: ApprovalAnswerKind
  /** Who said so, and over which way. */
  readonly by: string
  readonly via: 'api' | 'cli' | 'web' | 'client' | 'hook' | 'program'
  /** Of a denial it reaches the model. */
  readonly why?: string | undefined
}

/** An answer as it counts. */
export interface EffectiveAnswer extends ApprovalAnswer {
  /** Why tools.yaml could not be changed: then `always` counts once. */
  readonly unwritten?: string
  /** What became of a call that was approved and yet was not made. */
  readonly notMade?: string
}

/** What somebody has to decide about. */
export interface ApprovalSubject {
  readonly callId: string
  readonly traceId: string
  readonly principal: Principal
  readonly server: string
  readonly method: string
  /** As records call it. */
  readonly tool: string
  readonly isMcp: boolean
  /** What the server would get. */
  readonly arguments: Json
  /** Of the definition that is in force: an approval of one is none of another. */
  readonly definition: string
  readonly risk: RiskLevel
  /** Why somebody is asked, and by which rule. */
  readonly reason: string
  readonly rule: RuleSource | undefined
}

export interface PendingApproval extends ApprovalSubject {
  readonly id: string
  readonly requestedAt: Date
  readonly expiresAt: Date
}

/** An approval that lets a call pass. */
export interface Grant {
  readonly approval: string
  readonly scope: Exclude<ApprovalAnswerKind, 'deny'>
  readonly by: string
  readonly via: ApprovalAnswer['via']
  /** The one that was shown: of another nothing was approved. */
  readonly definition: string
}
