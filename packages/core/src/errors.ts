/** How one kind of failure is answered on each surface. */
export interface ErrorKind {
  readonly http: number
  readonly rpc: number
  readonly exit: number
  /** The same request may succeed later without any change. */
  readonly retryable: boolean
  /** In a tool call it becomes a tool error that the model can read, not a protocol error. */
  readonly forModel: boolean
}

type Codes = readonly [http: number, rpc: number, exit: number]

const kind = ([http, rpc, exit]: Codes, flags: Partial<ErrorKind> = {}): ErrorKind => ({
  http,
  rpc,
  exit,
  retryable: false,
  forModel: false,
  ...flags,
})

const transient = { retryable: true, forModel: true } as const
const permanent = { forModel: true } as const

/** The one table of failures. A test checks that docs/errors.md agrees with it. */
export const ERRORS = {
  // Starting up
  CONFIG_INVALID: kind([500, -32603, 1]),
  TOOLS_FILE_INVALID: kind([500, -32603, 1]),
  TOOLS_FILE_UNSAFE: kind([409, -32603, 1]),
  PROFILES_UNSAFE: kind([409, -32603, 1]),
  HOME_UNREADABLE: kind([500, -32603, 1]),
  HOME_UNTRUSTED: kind([403, -32603, 4]),
  STATE_UNUSABLE: kind([500, -32603, 1]),
  STATE_HELD: kind([409, -32603, 1]),
  KEYS_UNUSABLE: kind([500, -32603, 1]),
  PORT_UNAVAILABLE: kind([500, -32603, 1]),
  AGENT_CONFIG_INVALID: kind([500, -32603, 1]),
  AGENT_CONFIG_UNREADABLE: kind([500, -32603, 1]),
  SANDBOX_UNAVAILABLE: kind([503, -32000, 5], { forModel: true }),
  GATEWAY_UNREACHABLE: kind([503, -32603, 5], { retryable: true }),
  USAGE: kind([400, -32602, 2]),

  // The request
  PARSE_ERROR: kind([400, -32700, 2]),
  INVALID_REQUEST: kind([400, -32600, 2]),
  METHOD_UNKNOWN: kind([404, -32601, 2]),
  INVALID_PARAMS: kind([400, -32602, 2]),
  HEADER_MISMATCH: kind([400, -32020, 2]),
  VERSION_UNSUPPORTED: kind([400, -32022, 2]),
  CAPABILITY_MISSING: kind([400, -32021, 2], permanent),
  CLIENT_REFUSED: kind([502, -32000, 4], permanent),
  TOOL_UNKNOWN: kind([404, -32602, 3]),
  NAME_AMBIGUOUS: kind([400, -32602, 2]),
  SERVER_UNKNOWN: kind([404, -32602, 3]),
  AGENT_UNKNOWN: kind([404, -32602, 3]),
  AGENT_MISSING: kind([404, -32602, 3]),
  AGENT_NOT_STRICT: kind([409, -32602, 4]),
  RESOURCE_UNKNOWN: kind([404, -32602, 3]),
  PROMPT_UNKNOWN: kind([404, -32602, 3]),
  TRACE_UNKNOWN: kind([404, -32602, 3]),
  TOKEN_UNKNOWN: kind([404, -32602, 3]),
  PROFILE_UNKNOWN: kind([404, -32602, 3]),
  PROFILES_UNREAD: kind([428, -32602, 2]),
  PROFILES_CHANGED: kind([412, -32602, 1]),
  CONFIG_CHANGED: kind([409, -32602, 1]),
  SESSION_MISSING: kind([404, -32602, 3]),
  APPROVAL_UNKNOWN: kind([404, -32602, 3]),
  APPROVAL_SETTLED: kind([409, -32602, 1]),
  ALWAYS_REFUSED: kind([409, -32602, 4]),

  // The caller and its origin
  UNAUTHENTICATED: kind([401, -32000, 4]),
  FORBIDDEN: kind([403, -32000, 4]),
  HOST_REFUSED: kind([403, -32000, 4]),
  ORIGIN_REFUSED: kind([403, -32000, 4]),
  ROUTE_UNKNOWN: kind([404, -32601, 3]),
  VERB_REFUSED: kind([405, -32000, 2]),
  ACCEPT_REFUSED: kind([406, -32000, 2]),
  MEDIA_REFUSED: kind([415, -32000, 2]),
  BODY_TOO_LARGE: kind([413, -32600, 2]),
  BODY_STALLED: kind([408, -32600, 2], { retryable: true }),
  SESSION_REQUIRED: kind([400, -32000, 2]),
  SESSION_UNKNOWN: kind([404, -32001, 3]),
  OVERLOADED: kind([503, -32000, 5], transient),

  // The decision
  CALL_DENIED: kind([403, -32000, 4], permanent),
  MODE_FORBIDS: kind([403, -32000, 4], permanent),
  MODE_REFUSED: kind([409, -32000, 4]),
  DEFINITION_CHANGED: kind([403, -32000, 4], permanent),
  COUNTERPART_DIFFERS: kind([403, -32000, 4], permanent),
  ARGUMENTS_INVALID: kind([400, -32602, 2], permanent),
  ARGUMENTS_UNCHECKED: kind([403, -32000, 4], permanent),
  ARGUMENTS_FORBIDDEN: kind([403, -32000, 4], permanent),
  SECRET_REFUSED: kind([403, -32000, 4], permanent),
  PAGE_REFUSED: kind([403, -32000, 4], permanent),
  PRIVATE_SESSION: kind([403, -32000, 4], permanent),
  RATE_LIMITED: kind([429, -32000, 4], transient),
  APPROVAL_REQUIRED: kind([403, -32000, 4], permanent),
  APPROVAL_DENIED: kind([403, -32000, 4], permanent),
  APPROVAL_EXPIRED: kind([403, -32000, 4], transient),
  APPROVAL_PENDING: kind([403, -32000, 4], transient),
  AUDIT_UNAVAILABLE: kind([503, -32000, 5], transient),
  RESULT_WITHHELD: kind([503, -32000, 5], permanent),
  LOG_ALTERED: kind([500, -32603, 6]),
  VERDICTS_CHANGED: kind([409, -32603, 6]),

  // Context isolation
  ISOLATION_FAILED: kind([502, -32000, 1], permanent),
  ISOLATION_LIMIT: kind([504, -32000, 5], permanent),
  MODEL_UNAVAILABLE: kind([503, -32000, 5], transient),
  EXECUTOR_MISSING: kind([503, -32000, 5], permanent),

  // The upstream server
  UPSTREAM_STARTING: kind([503, -32000, 5], transient),
  UPSTREAM_RESTARTING: kind([503, -32000, 5], transient),
  UPSTREAM_BROKEN: kind([503, -32000, 5], transient),
  UPSTREAM_UNAVAILABLE: kind([503, -32000, 5], transient),
  UPSTREAM_DISABLED: kind([503, -32000, 5], permanent),
  UPSTREAM_NEEDS_LOGIN: kind([503, -32000, 5], permanent),
  // The request was not sent, so it can be repeated. The next two were sent and may have run.
  UPSTREAM_GONE: kind([503, -32000, 5], transient),
  UPSTREAM_DIED: kind([502, -32000, 5], permanent),
  UPSTREAM_TIMEOUT: kind([504, -32000, 5], permanent),
  // This one may have run as well, and its server is there again.
  UPSTREAM_NARROWED: kind([503, -32000, 5], transient),
  UPSTREAM_TOO_LARGE: kind([502, -32000, 1], permanent),
  UPSTREAM_FAILED: kind([502, -32000, 5], permanent),
  UPSTREAM_PROTOCOL: kind([502, -32000, 1], permanent),
  SUBSCRIPTION_REFUSED: kind([403, -32602, 4]),
  CALL_CANCELLED: kind([499, -32000, 130]),

  // A bug in Sallyport
  INTERNAL: kind([500, -32603, 1]),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERRORS

export interface ErrorDetails {
  /** What the reader can do about it. */
  readonly hint?: string
  readonly cause?: unknown
}

/** The one error class: an expected failure with a code of the table above. Anything else that is thrown is a bug. */
export class SallyportError extends Error {
  override readonly name = 'SallyportError'
  readonly code: ErrorCode
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
  }

  get kind(): ErrorKind {
    return ERRORS[this.code]
  }

  /** Message and hint as one string, for a person or a model. */
  get text(): string {
    return this.hint === undefined ? this.message : `${this.message} ${this.hint}`
  }
}

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
