import type { ErrorCode } from './errors.ts'
import type { Json } from './json/json.ts'
import type { NetworkMode } from './network/network-mode.ts'
import type { RuleSource, StepName } from './policy/decide.ts'
import type { Mode } from './policy/mode.ts'
import type { Sensitivity } from './policy/sensitivity.ts'
import type { RiskLevel } from './policy/tools-file.ts'
import type { ServerInstance } from './server-instance.ts'

/** What every event of a call says about the call. The field names are those of the written record. */
export interface CallFacts {
  /** Unique per call. A W3C trace may contain many calls. */
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

/** The verdict of each step, the reason of the deciding step, and the facts that were decided about. */
interface DecisionFacts {
  readonly steps: Readonly<Partial<Record<StepName, string>>>
  readonly decided_by?: { readonly step: StepName; readonly reason: string; readonly rule?: RuleSource }
  /** The rules that the other steps applied. */
  readonly rules?: Readonly<Partial<Record<StepName, RuleSource>>>
  /** What enforcement would have done, if the rules are only watched and not enforced. */
  readonly would?: {
    readonly outcome: 'ask' | 'deny'
    readonly step: StepName
    readonly error?: ErrorCode
    readonly reason: string
    readonly rule?: RuleSource
  }
  readonly mode?: Mode
  /** The label of the session before the call. Missing: PUBLIC. */
  readonly label_before?: Sensitivity
  readonly risk?: RiskLevel
  readonly risk_reason?: string
  /** The approval that allowed the call: its own, or an earlier one for the whole session. */
  readonly approval?: string
  /** How long it took to decide, without the time in which a person was asked. Older records do not have it. */
  readonly decided_ms?: number
  /** As much of them as `audit.arguments` allows. */
  readonly arguments?: Json
}

/** The server that an event is about, and which of its instances. */
interface InstanceFacts {
  readonly server: string
  /** Missing for the normal instance, which most servers have alone. */
  readonly instance?: 'isolated'
}

/** Who changed something, and through which interface. */
interface ChangedBy {
  readonly by: string
  readonly via: string
}

/** Every event, as one union. The log stores these, and subscribers receive them. */
export type SallyportEvent =
  | ({ readonly type: 'TOOL_CALL_STARTED' } & CallFacts & DecisionFacts)
  | ({
      readonly type: 'TOOL_CALL_COMPLETED'
      readonly success: boolean
      /** From the moment in which it was allowed, until its answer was recorded. */
      readonly latency_ms: number
      /** How much of that its server had it. Older records do not have it. */
      readonly server_ms?: number
      readonly bytes: number
      /** Tokens that a model would have to read, estimated from the bytes alone. Older records do not have it. */
      readonly tokens_estimated?: number
      /** Present if the caller did not get the whole result. */
      readonly returned?: ReturnedFacts
      /** The label of the session when the answer was sent. Missing: PUBLIC. */
      readonly label_after?: Sensitivity
      /** Which instance got the call, for a server that has two. */
      readonly instance?: ServerInstance
      /** Its server had forgotten the session, so it was sent a second time. */
      readonly resent?: boolean
    } & CallFacts)
  | ({
      readonly type: 'TOOL_CALL_FAILED'
      readonly error: ErrorCode
      readonly message: string
      readonly latency_ms: number
      readonly server_ms?: number
      /** Size of the server's answer, if a later step failed. */
      readonly bytes?: number
      readonly returned?: ReturnedFacts
      readonly label_after?: Sensitivity
      readonly instance?: ServerInstance
      readonly resent?: boolean
    } & CallFacts)
  /** The server asked something of the client (`method`) while a call ran: sampling, elicitation, roots. */
  | ({ readonly type: 'CLIENT_ASKED' } & CallFacts)
  | ({ readonly type: 'CLIENT_ANSWERED'; readonly success: boolean; readonly latency_ms: number } & CallFacts)
  | ({ readonly type: 'POLICY_DENIED'; readonly error: ErrorCode; readonly message: string } & CallFacts &
      DecisionFacts)
  | { readonly type: 'GATEWAY_STARTED'; readonly version: string; readonly pid: number; readonly home: string }
  | { readonly type: 'GATEWAY_STOPPED'; readonly reason: string }
  | ({ readonly type: 'UPSTREAM_CONNECTED'; readonly era: string; readonly took_ms: number } & InstanceFacts)
  | ({ readonly type: 'UPSTREAM_NEEDS_LOGIN'; readonly reason: string } & InstanceFacts)
  | ({ readonly type: 'UPSTREAM_LOST'; readonly reason: string } & InstanceFacts)
  /** The outcome of a health check, if it differs from the one before. */
  | ({ readonly type: 'UPSTREAM_HEALTHY' } & InstanceFacts)
  | ({ readonly type: 'UPSTREAM_UNHEALTHY'; readonly reason: string } & InstanceFacts)
  /** Messages of the server that nobody received. Recorded when the count reaches 100, 1,000 and so on. */
  | ({ readonly type: 'UPSTREAM_DROPPED'; readonly reason: string; readonly count: number } & InstanceFacts)
  | ({ readonly type: 'UPSTREAM_RESTARTED'; readonly attempt: number; readonly took_ms: number } & InstanceFacts)
  /**
   * How the tools of the isolated instance of a server differ from those that are listed, whenever that changes; empty
   * lists if they no longer do. Of long lists only the first hundred names are recorded.
   */
  | {
      readonly type: 'COUNTERPART_DRIFTED'
      readonly server: string
      /** Tools that it does not have. */
      readonly missing: readonly string[]
      /** Tools that it defines differently. */
      readonly differing: readonly string[]
    }
  | {
      readonly type: 'TOOLS_DISCOVERED'
      readonly server: string
      readonly added: readonly string[]
      readonly removed: readonly string[]
      readonly changed: readonly string[]
      /** How many tools the server has now. Of long lists of names only the first hundred are recorded. */
      readonly tools: number
    }
  | {
      readonly type: 'CONFIG_RELOADED'
      readonly restarted: readonly string[]
      readonly added: readonly string[]
      readonly removed: readonly string[]
    }
  /** A person changed the servers in the file through the gateway or its command line. */
  | ({
      readonly type: 'CONFIG_WRITTEN'
      readonly file: string
      readonly added: readonly string[]
      readonly removed: readonly string[]
      readonly changed: readonly string[]
    } & ChangedBy)
  /** A person wants a server to be started again. */
  | ({ readonly type: 'UPSTREAM_RESTART_REQUESTED'; readonly server: string } & ChangedBy)
  | { readonly type: 'CONFIG_REJECTED'; readonly message: string }
  /** Names of the changed profiles, including removed ones. */
  | { readonly type: 'PROFILES_CHANGED'; readonly profiles: readonly string[] }
  | {
      readonly type: 'TOKEN_MINTED'
      readonly token_id: string
      readonly agent: string
      readonly profile: string
      /** Sources from which the client gets MCP servers that bypass the gateway. */
      readonly other_servers?: readonly string[]
    }
  | { readonly type: 'TOKEN_REVOKED'; readonly token_id: string }
  /**
   * Credentials refused since the last such record of this source. The first is recorded at once, then once a minute.
   */
  | {
      readonly type: 'CREDENTIALS_REFUSED'
      /** `loopback`, an address, a /64 of IPv6, `socket`, or `others`. */
      readonly source: string
      readonly count: number
      /** How many of each: `token`, `signature`, `login`, `cookie`. */
      readonly kinds: Readonly<Record<string, number>>
    }
  /** A person has to approve the call before it continues. `approval` is the id of the approval request. */
  | ({
      readonly type: 'APPROVAL_REQUESTED'
      readonly approval: string
      readonly reason: string
      readonly expires: string
      readonly rule?: RuleSource
      readonly risk?: RiskLevel
      readonly arguments?: Json
      /** The call would send private data out. It does not wait: after an approval its client has to repeat it. */
      readonly for_private_data?: true
    } & CallFacts)
  | ({
      readonly type: 'APPROVAL_ANSWERED'
      readonly approval: string
      readonly answer: 'deny' | 'once' | 'session' | 'always'
      readonly why?: string
      /** Why tools.yaml could not be changed: the `always` is withdrawn and holds for this one call only. */
      readonly unwritten?: string
    } & CallFacts &
      ChangedBy)
  | ({ readonly type: 'APPROVAL_EXPIRED'; readonly approval: string; readonly reason: string } & CallFacts)
  /** A process of a server is about to start in a sandbox. */
  | {
      readonly type: 'SANDBOX_STARTED'
      readonly server: string
      readonly driver: string
      readonly mode: NetworkMode
      /** It has the network of this machine. */
      readonly network?: 'host'
    }
  /** A process of a server is about to start without the sandbox that `sandbox.default` asks for: its entry says so. */
  | { readonly type: 'SANDBOX_OMITTED'; readonly server: string }
  /** The label of a session rose, and what its process can reach shrank. */
  | {
      readonly type: 'SANDBOX_NARROWED'
      readonly server: string
      readonly from: NetworkMode
      readonly to: NetworkMode
      /** Open connections that were ended. */
      readonly cut: number
      readonly took_us: number
      /** It had the network of this machine, so it was ended. */
      readonly ended?: true
    }
  /** The gateway ended a process: in a sandbox, since it used more than it may; without one, since its session is private. */
  | {
      readonly type: 'SANDBOX_STOPPED'
      readonly server: string
      readonly reason: string
    }
  /** A process in a sandbox wanted to reach a host, or a connection of it was ended. */
  | ({
      readonly type: 'EGRESS_DECIDED'
      readonly server: string
      readonly host: string
      readonly port: number
      readonly address?: string
      readonly allowed: boolean
      readonly reason: string
      /** Bytes, if an open connection was ended. */
      readonly sent?: number
      readonly received?: number
      /** How many more decisions like this there were, if that is what it records. */
      readonly count?: number
      /** If several calls were in flight in its process, any of them may have caused it: the traces of all. */
      readonly trace_ids?: readonly string[]
    } & Partial<Pick<CallFacts, 'call_id' | 'trace_id'>>)
  /** The label of a session rose: it has seen private data, or untrusted text. */
  | ({
      readonly type: 'SENSITIVITY_RAISED'
      readonly user: string
      readonly agent: string
      readonly profile: string
      readonly session: string
      readonly from: Sensitivity
      readonly to: Sensitivity
      readonly untrusted?: boolean
      /** What of it is new. Of long lists only the first names are recorded. */
      readonly datasets: readonly string[]
      readonly reason: string
      readonly rule?: RuleSource
      /** Only if a person raised it. */
      readonly by?: string
      readonly via?: string
    } & Partial<Pick<CallFacts, 'call_id' | 'trace_id' | 'server' | 'tool_name'>>)
  | ({
      readonly type: 'SESSION_ENDED'
      readonly user: string
      readonly session: string
      readonly sensitivity: Sensitivity
      /** Whether its workspace and its stored results are removed at once. */
      readonly purged: boolean
    } & ChangedBy)
  | {
      readonly type: 'SESSION_DATA_REMOVED'
      readonly user: string
      readonly session: string
      readonly files: number
      readonly bytes: number
      /** Whether it had a key, which was destroyed. */
      readonly key: boolean
      /** What servers that know who calls have removed; one that could not be reached is asked again. */
      readonly at_servers?: readonly {
        readonly server: string
        readonly outcome: 'removed' | 'unsupported' | 'failed'
        readonly files: number
      }[]
      readonly reason: 'purge' | 'retention'
    }
  /** A person read the stored result of a call. */
  | ({
      readonly type: 'RESULT_READ'
      readonly user: string
      readonly session: string
      readonly handle: string
    } & Pick<CallFacts, 'call_id' | 'trace_id'> &
      ChangedBy)
  | ({
      readonly type: 'MODE_CHANGED'
      readonly from: Mode
      readonly to: Mode
      readonly why: string
    } & ChangedBy)
  | { readonly type: 'TOOLS_WRITTEN'; readonly file: string; readonly tools: readonly string[]; readonly count: number }
  /** A person changed entries through the gateway. Of long lists only the first names are recorded. */
  | ({ readonly type: 'TOOLS_EDITED'; readonly file: string; readonly entries: readonly string[] } & ChangedBy)
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
  /** Records can be written again. `unwritten` is the number of lost records. */
  | { readonly type: 'LOG_RESUMED'; readonly unwritten: number }
  | { readonly type: 'LOG_REPAIRED'; readonly file: string; readonly dropped_bytes: number }

/** How much of a result reached the caller. */
export interface ReturnedFacts {
  /** The strategy of an isolated call, or `shaped`. */
  readonly strategy: string
  readonly bytes: number
  /** Estimated number of tokens that the caller's model did not have to read. */
  readonly tokens_kept: number
  readonly turns?: number
  readonly tokens_in?: number
  readonly tokens_out?: number
  readonly handle?: string
  /** The error code, if a bounded result replaced the answer. */
  readonly fell_back?: string
}

export type EventType = SallyportEvent['type']

/** An event as the log stores it: with its sequence number, its time, and its link to the records before it. */
export type LoggedEvent = {
  readonly seq: number
  readonly time: string
  /** The hash of the chain before this record. Only in records at which a reader may begin. */
  readonly after?: string
  /** The hash of the chain including this record. Only in the last record of a write. */
  readonly chain?: string
} & SallyportEvent
