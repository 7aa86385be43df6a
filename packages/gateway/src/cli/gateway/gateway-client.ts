import { isJsonObject, type Mode, type RiskLevel, SallyportError, type Sensitivity } from '@sallyport/core'
import type { ServerChange } from '../../config/config.ts'
import type {
  AnsweredApproval,
  ApprovalView,
  CallAnswer,
  CallProblem,
  ChangedMode,
  ConfigPreviewView,
  EndedSessionView,
  EventView,
  Explanation,
  ModeView,
  OfferDetail,
  OfferView,
  SandboxListView,
  Savings,
  SavingsBy,
  ServerView,
  SessionView,
  Status,
  TokenView,
  ToolDetail,
  ToolsFileView,
  ToolView,
} from '../../serve/api/api.ts'
import { parseProblem } from '../../serve/problem.ts'
import type { ApiReply, ApiRequest, ApiTransport } from './api-transport.ts'

export type {
  AnsweredApproval,
  ApprovalView,
  CallAnswer,
  CallProblem,
  ChangedMode,
  ConfigPreviewView,
  EndedSessionView,
  EventView,
  Explanation,
  ModeView,
  OfferDetail,
  OfferView,
  SandboxedServerView,
  SandboxListView,
  Savings,
  SavingsBy,
  ServerView,
  SessionView,
  Status,
  TokenView,
  ToolDetail,
  ToolsFileView,
  ToolView,
} from '../../serve/api/api.ts'

export interface ToolCallRequest {
  readonly tool: string
  /** JSON text, sent unchanged: the gateway checks numbers and duplicate keys that a parser would hide. */
  readonly argumentText: string
  readonly dryRun: boolean
  /** The trace id under which the call is recorded. */
  readonly trace: string
}

/** A session by its name. */
interface NamedSession {
  readonly session: string
  readonly user?: string
}

/** A call for which a decision was made, whatever its result. */
export interface CallOutcome {
  readonly answer: CallAnswer | CallProblem
  /** The answer as received: large numbers in a result would change if they were parsed and printed again. */
  readonly text: string
}

export interface EventQuery {
  readonly since?: string
  readonly until?: string
  readonly agent?: string
  readonly session?: string
  readonly server?: string
  readonly tool?: string
  /** Types of events, separated by commas. */
  readonly type?: string
  readonly trace?: string
  readonly limit?: number
}

export interface ToolQuery {
  readonly server?: string
  /** A name in any form, or a glob. */
  readonly match?: string
  readonly risk?: RiskLevel
  readonly pin?: 'changed'
}

export interface ModeRequest {
  readonly mode: Mode
  readonly why?: string
}

export interface ApprovalReply {
  readonly answer: AnsweredApproval['answer']
  readonly why?: string | undefined
  /** Only report what the answer would do. */
  readonly dryRun?: boolean
}

export interface TokenOptions {
  readonly agent?: string
  readonly profile?: string
  readonly session?: string
  /** Selectors that narrow what the profile selects. */
  readonly tools?: readonly string[]
  /** A person uses the client interactively. */
  readonly attended?: boolean
  /** Sources that give the client servers which the gateway does not govern. */
  readonly otherServers?: readonly string[]
  readonly ttlMs?: number
}

/** The gateway's API as the commands use it. Refusals and failures come as SallyportError. */
export class GatewayClient {
  readonly #transport: ApiTransport

  constructor(transport: ApiTransport) {
    this.#transport = transport
  }

  status(): Promise<Status> {
    return this.#request({ method: 'GET', path: '/api/status' })
  }

  async servers(signal?: AbortSignal): Promise<readonly ServerView[]> {
    const { servers } = await this.#request<{ servers: ServerView[] }>({ method: 'GET', path: '/api/servers', signal })
    return servers
  }

  server(id: string, signal?: AbortSignal): Promise<ServerView> {
    return this.#request({ method: 'GET', path: `/api/servers/${encodeURIComponent(id)}`, signal })
  }

  restartServer(id: string): Promise<ServerView> {
    const path = `/api/servers/${encodeURIComponent(id)}/restart`
    return this.#request({ method: 'POST', path, body: JSON.stringify({ via: 'cli' }) })
  }

  previewServers(changes: readonly ServerChange[]): Promise<ConfigPreviewView> {
    return this.#request({ method: 'POST', path: '/api/config/preview', body: JSON.stringify({ changes }) })
  }

  /** Writes what was previewed. */
  applyServers(changes: readonly ServerChange[], hash: string): Promise<ConfigPreviewView> {
    const body = JSON.stringify({ changes, hash, via: 'cli' })
    return this.#request({ method: 'POST', path: '/api/config/apply', body })
  }

  sandboxes(signal?: AbortSignal): Promise<SandboxListView> {
    return this.#request({ method: 'GET', path: '/api/sandboxes', signal })
  }

  async tools(query: ToolQuery, signal?: AbortSignal): Promise<readonly ToolView[]> {
    const path = `/api/tools${formatQuery({ ...query })}`
    const { tools } = await this.#request<{ tools: ToolView[] }>({ method: 'GET', path, signal })
    return tools
  }

  tool(name: string, signal?: AbortSignal): Promise<ToolDetail> {
    return this.#request({ method: 'GET', path: `/api/tools/${encodeURIComponent(name)}`, signal })
  }

  /** Accepts only the definition with this digest. */
  acceptTool(name: string, pin: string): Promise<ToolDetail> {
    const body = JSON.stringify({ pin, via: 'cli' })
    return this.#request({ method: 'POST', path: `/api/tools/${encodeURIComponent(name)}/accept`, body })
  }

  /** Prompts, resources, templates and instructions that changed since they were first seen or accepted. */
  async driftedOffers(signal?: AbortSignal): Promise<readonly OfferView[]> {
    const { offers } = await this.#request<{ readonly offers: readonly OfferView[] }>({
      ...{ method: 'GET', path: '/api/offers?pin=changed', signal },
    })
    return offers
  }

  offer(name: string, signal?: AbortSignal): Promise<OfferDetail> {
    return this.#request({ method: 'GET', path: `/api/offers/${encodeURIComponent(name)}`, signal })
  }

  acceptOffer(name: string, pin: string): Promise<OfferDetail> {
    const body = JSON.stringify({ pin, via: 'cli' })
    return this.#request({ method: 'POST', path: `/api/offers/${encodeURIComponent(name)}/accept`, body })
  }

  toolsFile(signal?: AbortSignal): Promise<ToolsFileView> {
    return this.#request({ method: 'GET', path: '/api/tools-file', signal })
  }

  /** A call that failed after the decision is an outcome too. Only a request that never became a call throws. */
  async call(request: ToolCallRequest, signal?: AbortSignal): Promise<CallOutcome> {
    const { tool, argumentText, dryRun, trace } = request
    const body = `{"tool":${JSON.stringify(tool)},"dryRun":${dryRun},"arguments":${argumentText}}`
    const headers = { traceparent: `00-${trace}-${trace.slice(0, 16)}-01` }
    const reply = await this.#transport({ method: 'POST', path: '/api/call', body, headers, signal })
    const text = await readText(reply)
    const answer = parseReply(text, reply.status)
    if (!isJsonObject(answer) || typeof answer.call_id !== 'string') throw toReplyError(answer, reply.status)
    return { answer: answer as unknown as CallOutcome['answer'], text }
  }

  async loginPath(): Promise<string> {
    return (await this.#request<{ path: string }>({ method: 'POST', path: '/api/login-links' })).path
  }

  async events(query: EventQuery, signal?: AbortSignal): Promise<readonly EventView[]> {
    const path = `/api/events${formatQuery({ ...query })}`
    return (await this.#request<{ events: EventView[] }>({ method: 'GET', path, signal })).events
  }

  /** The newest `limit` past events, then events as they happen. Ends when the gateway ends. */
  async *follow(query: EventQuery, signal: AbortSignal): AsyncGenerator<EventView> {
    const path = `/api/events/follow${formatQuery({ ...query })}`
    const reply = await this.#transport({ method: 'GET', path, signal })
    if (reply.status >= 400) throw toReplyError(parseReply(await readText(reply), reply.status), reply.status)
    for await (const line of readLines(reply.body)) {
      if (line.startsWith('event: overrun')) return
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as EventView
    }
  }

  savings(query: EventQuery & { readonly by?: SavingsBy }, signal?: AbortSignal): Promise<Savings> {
    return this.#request({ method: 'GET', path: `/api/savings${formatQuery({ ...query })}`, signal })
  }

  explain(id: string): Promise<Explanation> {
    return this.#request({ method: 'GET', path: `/api/explain/${encodeURIComponent(id)}` })
  }

  mode(): Promise<ModeView> {
    return this.#request({ method: 'GET', path: '/api/mode' })
  }

  setMode(request: ModeRequest): Promise<ChangedMode> {
    return this.#request({ method: 'PUT', path: '/api/mode', body: JSON.stringify({ ...request, via: 'cli' }) })
  }

  /** Only for a running gateway: this needs no code that the gateway would have to load first. */
  panic(why: string): Promise<ChangedMode> {
    return this.#request({ method: 'POST', path: `/panic${formatQuery({ why, via: 'cli' })}` })
  }

  async approvals(): Promise<readonly ApprovalView[]> {
    return (await this.#request<{ approvals: ApprovalView[] }>({ method: 'GET', path: '/api/approvals' })).approvals
  }

  approval(id: string): Promise<ApprovalView> {
    return this.#request({ method: 'GET', path: `/api/approvals/${encodeURIComponent(id)}` })
  }

  answerApproval(id: string, reply: ApprovalReply): Promise<AnsweredApproval> {
    const path = `/api/approvals/${encodeURIComponent(id)}`
    return this.#request({ method: 'POST', path, body: JSON.stringify({ ...reply, via: 'cli' }) })
  }

  async sessions(): Promise<readonly SessionView[]> {
    return (await this.#request<{ sessions: SessionView[] }>({ method: 'GET', path: '/api/sessions' })).sessions
  }

  raiseSession(
    named: NamedSession & { readonly sensitivity: Sensitivity; readonly why?: string },
  ): Promise<SessionView> {
    return this.#request({
      method: 'POST',
      path: '/api/sessions/raise',
      body: JSON.stringify({ ...named, via: 'cli' }),
    })
  }

  endSession(named: NamedSession & { readonly purge: boolean }): Promise<EndedSessionView> {
    return this.#request({ method: 'POST', path: '/api/sessions/end', body: JSON.stringify({ ...named, via: 'cli' }) })
  }

  async tokens(): Promise<readonly TokenView[]> {
    return (await this.#request<{ tokens: TokenView[] }>({ method: 'GET', path: '/api/tokens' })).tokens
  }

  mintToken(options: TokenOptions): Promise<{ readonly token: string; readonly record: TokenView }> {
    return this.#request({ method: 'POST', path: '/api/tokens', body: JSON.stringify(options) })
  }

  revokeToken(id: string): Promise<{ readonly id: string }> {
    return this.#request({ method: 'DELETE', path: `/api/tokens/${encodeURIComponent(id)}` })
  }

  async #request<Answer>(request: ApiRequest): Promise<Answer> {
    const reply = await this.#transport(request)
    const answer = parseReply(await readText(reply), reply.status)
    if (reply.status >= 400) throw toReplyError(answer, reply.status)
    return answer as Answer
  }
}

function formatQuery(fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}

async function readText({ body }: ApiReply): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function parseReply(text: string, status: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw toReplyError(undefined, status)
  }
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

function toReplyError(answer: unknown, status: number): SallyportError {
  const problem = parseProblem(answer)
  if (problem !== undefined) return problem
  const message = `The gateway sent an answer that cannot be read (HTTP ${status}).`
  return new SallyportError('GATEWAY_UNREACHABLE', message, { hint: 'It may run another version: restart it.' })
}
