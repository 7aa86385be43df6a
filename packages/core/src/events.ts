import type { ErrorCode } from './errors.ts'
import type { Json } from './json/json.ts'
import type { RuleSource, StepName } from './policy/decide.ts'
import type { Mode } from './policy/mode.ts'
import type { RiskLevel } from './policy/tools-file.ts'

/** What every event of one call says about it. Field names are those of the written record. */
export interface CallFacts {
  /** One call has one; a W3C trace may hold many calls. */
  readonly call_id: string
  readonly trace_id: string
  readonly user: string
  readonly agent: string
  readonly profile: string
  readonly session: string
  readonly server: string
  /** `tools/call`, `resources/read`, … */
  readonly method: string
  /** The canonical tool name, the prompt's name or the resource's URI. */
  readonly tool_name: string
  /** False for the gateway's own tools. */
  readonly is_mcp: boolean
}

/** What each step said, what the deciding one gave as its reason, and what all this was decided about. */
interface DecisionFacts {
  readonly steps: Readonly<Partial<Record<StepName, string>>>
  readonly decided_by?: { readonly step: StepName; readonly reason: string; readonly rule?: RuleSource }
  /** By which rules the other steps went. */
  readonly rules?: Readonly<Partial<Record<StepName, RuleSource>>>
  /** What enforcing the rules would have done, where they are only watched. */
  readonly would?: {
    readonly outcome: 'ask' | 'deny'
    readonly step: StepName
    readonly error?: ErrorCode
    readonly reason: string
    readonly rule?: RuleSource
  }
  readonly mode?: Mode
  readonly risk?: RiskLevel
  readonly risk_reason?: string
  /** The approval that let it pass: its own, or an earlier one that was given for the session. */
  readonly approval?: string
  /** As much of them as `audit.arguments` keeps. */
  readonly arguments?: Json
}

/** Who changed something, and by what means. */
interface ChangedBy {
  readonly by: string
  readonly via: string
}

/** Everything that happens, as one union: this is what the log holds and what watchers receive. */
export type SallyportEvent =
  | ({ readonly type: 'TOOL_CALL_STARTED' } & CallFacts & DecisionFacts)
  | ({
      readonly type: 'TOOL_CALL_COMPLETED'
      readonly success: boolean
      readonly latency_ms: number
      readonly bytes: number
      /** What a model would have to read, told from the bytes alone. Older records do not have it. */
      readonly tokens_estimated?: number
      /** Where not all of it went back to the caller. */
      readonly returned?: ReturnedFacts
    } & CallFacts)
  | ({
      readonly type: 'TOOL_CALL_FAILED'
      readonly error: ErrorCode
      readonly message: string
      readonly latency_ms: number
      /** What the server gave, where a step after it failed. */
      readonly bytes?: number
      readonly returned?: ReturnedFacts
    } & CallFacts)
  /** The server asked something of the client (`method`) while a call ran: sampling, elicitation, roots. */
  | ({ readonly type: 'CLIENT_ASKED' } & CallFacts)
  | ({ readonly type: 'CLIENT_ANSWERED'; readonly success: boolean; readonly latency_ms: number } & CallFacts)
  | ({ readonly type: 'POLICY_DENIED'; readonly error: ErrorCode; readonly message: string } & CallFacts &
      DecisionFacts)
  | { readonly type: 'GATEWAY_STARTED'; readonly version: string; readonly pid: number; readonly home: string }
  | { readonly type: 'GATEWAY_STOPPED'; readonly reason: string }
  | { readonly type: 'UPSTREAM_CONNECTED'; readonly server: string; readonly era: string; readonly took_ms: number }
  | { readonly type: 'UPSTREAM_NEEDS_LOGIN'; readonly server: string; readonly reason: string }
  | { readonly type: 'UPSTREAM_LOST'; readonly server: string; readonly reason: string }
  /** What a health check found, where that is another thing than the one before. */
  | { readonly type: 'UPSTREAM_HEALTHY'; readonly server: string }
  | { readonly type: 'UPSTREAM_UNHEALTHY'; readonly server: string; readonly reason: string }
  /** Messages of the server that nobody got; told at 100, 1,000 and so on. */
  | { readonly type: 'UPSTREAM_DROPPED'; readonly server: string; readonly reason: string; readonly count: number }
  | {
      readonly type: 'UPSTREAM_RESTARTED'
      readonly server: string
      readonly attempt: number
      readonly took_ms: number
    }
  | {
      readonly type: 'TOOLS_DISCOVERED'
      readonly server: string
      readonly added: readonly string[]
      readonly removed: readonly string[]
      readonly changed: readonly string[]
      /** How many it has now; of long lists of names only the first hundred are kept. */
      readonly tools: number
    }
  | {
      readonly type: 'CONFIG_RELOADED'
      readonly restarted: readonly string[]
      readonly added: readonly string[]
      readonly removed: readonly string[]
    }
  | { readonly type: 'CONFIG_REJECTED'; readonly message: string }
  /** Profiles by name; those that were removed too. */
  | { readonly type: 'PROFILES_CHANGED'; readonly profiles: readonly string[] }
  | {
      readonly type: 'TOKEN_MINTED'
      readonly token_id: string
      readonly agent: string
      readonly profile: string
      /** What gives its client MCP servers that are not governed. */
      readonly other_servers?: readonly string[]
    }
  | { readonly type: 'TOKEN_REVOKED'; readonly token_id: string }
  /** Credentials that were refused since the last such record of this source: the first at once, then once a minute. */
  | {
      readonly type: 'CREDENTIALS_REFUSED'
      /** `loopback`, an address, a /64 of IPv6, `socket`, or `others`. */
      readonly source: string
      readonly count: number
      /** How many of each: `token`, `signature`, `login`, `cookie`. */
      readonly kinds: Readonly<Record<string, number>>
    }
  /** Somebody has to say yes before the call goes on; `approval` is the name of the question. */
  | ({
      readonly type: 'APPROVAL_REQUESTED'
      readonly approval: string
      readonly reason: string
      readonly expires: string
      readonly rule?: RuleSource
      readonly risk?: RiskLevel
      readonly arguments?: Json
    } & CallFacts)
  | ({
      readonly type: 'APPROVAL_ANSWERED'
      readonly approval: string
      readonly answer: 'deny' | 'once' | 'session' | 'always'
      readonly why?: string
      /** It takes an `always` back, which counts once: why tools.yaml could not be changed. */
      readonly unwritten?: string
    } & CallFacts &
      ChangedBy)
  | ({ readonly type: 'APPROVAL_EXPIRED'; readonly approval: string; readonly reason: string } & CallFacts)
  | ({
      readonly type: 'MODE_CHANGED'
      readonly from: Mode
      readonly to: Mode
      readonly why: string
    } & ChangedBy)
  | { readonly type: 'TOOLS_WRITTEN'; readonly file: string; readonly tools: readonly string[]; readonly count: number }
  | { readonly type: 'TOOLS_FILE_RELOADED'; readonly file: string; readonly entries: number }
  | { readonly type: 'TOOLS_FILE_REJECTED'; readonly file: string; readonly message: string }
  | ({
      readonly type: 'PIN_CHANGED'
      readonly tool_name: string
      readonly from: string
      readonly to: string
    } & ChangedBy)
  | {
      readonly type: 'DEFINITION_DRIFTED'
      readonly server: string
      readonly tool_name: string
      readonly pin: string
      readonly now: string
    }
  /** Inspection found something in what a server offers. */
  | {
      readonly type: 'DEFINITION_SUSPICIOUS'
      readonly server: string
      readonly tool_name: string
      readonly findings: readonly string[]
    }
  /** Somebody accepted what inspection found. */
  | ({
      readonly type: 'FINDINGS_ACCEPTED'
      readonly tool_name: string
      readonly findings: readonly string[]
    } & ChangedBy)
  | { readonly type: 'LOG_TRIMMED'; readonly files: number; readonly bytes: number; readonly through: number }
  /** Records can be written again; so many could not be. */
  | { readonly type: 'LOG_RESUMED'; readonly unwritten: number }
  | { readonly type: 'LOG_REPAIRED'; readonly file: string; readonly dropped_bytes: number }

/** What of a result reached its caller. */
export interface ReturnedFacts {
  /** That of an isolated call, or `shaped`. */
  readonly strategy: string
  readonly bytes: number
  /** Estimated: what the caller's model did not have to read. */
  readonly tokens_kept: number
  readonly turns?: number
  readonly tokens_in?: number
  readonly tokens_out?: number
  readonly handle?: string
  /** The code of what went wrong, where a bounded result took the place of an answer. */
  readonly fell_back?: string
}

export type EventType = SallyportEvent['type']

/** An event as it stands in the log: with its place in the order, its time, and what links it to those before it. */
export type LoggedEvent = {
  readonly seq: number
  readonly time: string
  /** What the chain had come to before; only where a reader may begin. */
  readonly after?: string
  /** What it has come to with this record, the last one of a write. */
  readonly chain?: string
} & SallyportEvent
