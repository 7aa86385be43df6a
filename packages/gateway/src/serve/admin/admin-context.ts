import {
  type LoggedEvent,
  type Mode,
  NEXT_MODES,
  type ParsedToolsFile,
  type Principal,
  type RuleSource,
  type SallyportEvent,
  type StepName,
  type Verdict,
} from '@sallyport/core'
import type { BodyBudget } from '@sallyport/kit/http-intake'
import type { HostContext } from '../../agents/agents.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Environment, Home, ProfilesEditor, ServersEditor, Settings } from '../../config/config.ts'
import type {
  ApprovalHook,
  Approvals,
  LineChange,
  ModeRecord,
  ModeState,
  PendingApproval,
  ToolsEditor,
} from '../../governance/governance.ts'
import type { SessionResults } from '../../isolation/isolation.ts'
import type { CallGauge, Listings, Pipeline, ToolReview } from '../../pipeline/pipeline.ts'
import type { Sandboxes } from '../../sandbox/sandbox.ts'
import type { CredentialFailures, LocalTokens, Logins } from '../../sessions/sessions.ts'
import type { Store } from '../../store/store.ts'
import type { Exposition } from '../../telemetry/telemetry.ts'
import type { Fleet } from '../../upstream/upstream.ts'
import type { LegacySessions } from '../legacy/legacy-sessions.ts'
import type { Ids } from '../rpc/ids.ts'
import type { SessionControl } from './session-control.ts'

/** Calls that wait for a person, and what an answer would do. */
export interface ApprovalContext {
  readonly approvals: Pick<Approvals, 'pending' | 'list' | 'find' | 'answer'>
  readonly hook: Pick<ApprovalHook, 'acceptAnswer'>
  /** What answering `always` would write into tools.yaml. */
  preview(approval: PendingApproval, by: string): Promise<LineChange>
}

/** Recorded calls, to be decided again by rules that are not in force yet. */
export interface ReplayRequest {
  readonly tools: ParsedToolsFile
  readonly since: Date
  readonly signal: AbortSignal
}

/** What a replay found: verdicts that would change, by tool and rule. */
export interface ReplaySummary {
  readonly calls: number
  readonly undecided: number
  readonly changes: readonly {
    readonly tool: string
    readonly from: string
    readonly to: string
    readonly reason: string
    readonly calls: number
    readonly examples: readonly string[]
  }[]
}

/** A recorded call, decided again. */
export interface ReplayedCall {
  /** What the rules decided then. */
  readonly before: Verdict['outcome']
  readonly outcome: Verdict['outcome'] | 'undecided'
  readonly reason: string
  readonly step?: StepName | undefined
  readonly rule?: RuleSource | undefined
}

/** What the admin plane shows and changes. */
export interface AdminContext {
  readonly version: string
  readonly home: Home
  readonly state: string
  readonly startedAt: number
  readonly settings: Settings
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly gauge: CallGauge
  readonly fleet: Fleet
  readonly sessions: LegacySessions
  readonly bodies: BodyBudget
  readonly store: Store
  readonly tokens: LocalTokens
  readonly logins: Logins
  readonly failures: CredentialFailures
  readonly mode: ModeState
  readonly approving: ApprovalContext
  readonly review: ToolReview
  readonly tools: Pick<ToolsEditor, 'file' | 'draft' | 'setAll'>
  replay(request: ReplayRequest): Promise<ReplaySummary>
  /** By the rules and the mode of now. */
  replayCall(record: Extract<LoggedEvent, { type: 'TOOL_CALL_STARTED' | 'POLICY_DENIED' }>): Promise<ReplayedCall>
  /** The stored results of sessions. */
  readonly results: Pick<SessionResults, 'storeFor'>
  readonly profiles: ProfilesEditor
  readonly servers: ServersEditor
  readonly environment: Environment
  /** The program that agents start as their server. */
  readonly mainFile: string
  /** Where the agents of the user who started the gateway store their files. */
  readonly host: HostContext
  readonly ids: Ids
  readonly control: SessionControl
  readonly sandboxes: Pick<Sandboxes, 'list'>
  /** The operator's own calls, in the session that they belong to now. */
  renewSession(principal: Principal): Principal
  /** Where clients reach it over HTTP. */
  urls(): readonly string[]
  record(event: SallyportEvent): void
  /** The answer of /metrics; `undefined` if metrics are off. */
  metrics(accept: string | undefined): Exposition | undefined
}

/** The interfaces that the operator can use; recorded with each change. */
export const OPERATOR_INTERFACES = ['api', 'cli', 'web'] as const

/** The mode as the admin plane shows it. */
interface CurrentModeView extends ModeRecord {
  readonly next: Mode[]
  readonly problem?: string
}

export function modeView({ current, problem }: ModeState): CurrentModeView {
  return { ...current, next: [...NEXT_MODES[current.mode]], ...(problem !== undefined && { problem }) }
}
