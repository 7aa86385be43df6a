import { ERRORS, type ErrorCode, isJsonObject, SallyportError } from '@sallyport/core'
import type { CallAnswer, CallProblem } from '../serve/api/call.ts'
import type { ServerView } from '../serve/api/server-view.ts'
import type { Status } from '../serve/api/status.ts'
import type { ToolDetail, ToolView } from '../serve/api/tool-view.ts'
import type { ApiReply, ApiRequest, Exchange } from './exchange.ts'

export interface CallWish {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly dryRun?: boolean
}

/** A call that was judged, whatever became of it. */
export type CallOutcome = CallAnswer | CallProblem

/** The gateway's API as the commands use it. Refusals and failures come as SallyportError. */
export class GatewayClient {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  status(): Promise<Status> {
    return this.#ask({ method: 'GET', path: '/api/status' })
  }

  async servers(signal?: AbortSignal): Promise<readonly ServerView[]> {
    const { servers } = await this.#ask<{ servers: ServerView[] }>({ method: 'GET', path: '/api/servers', signal })
    return servers
  }

  server(id: string, signal?: AbortSignal): Promise<ServerView> {
    return this.#ask({ method: 'GET', path: `/api/servers/${encodeURIComponent(id)}`, signal })
  }

  async tools(query: { server?: string; match?: string }, signal?: AbortSignal): Promise<readonly ToolView[]> {
    const path = `/api/tools${queryOf(query)}`
    const { tools } = await this.#ask<{ tools: ToolView[] }>({ method: 'GET', path, signal })
    return tools
  }

  tool(name: string, signal?: AbortSignal): Promise<ToolDetail> {
    return this.#ask({ method: 'GET', path: `/api/tools/${encodeURIComponent(name)}`, signal })
  }

  /** A call that failed after it was judged is an outcome too; only what never became a call is thrown. */
  async call(wish: CallWish, signal?: AbortSignal): Promise<CallOutcome> {
    const reply = await this.#exchange({ method: 'POST', path: '/api/call', body: wish, signal })
    const answer = await readJson(reply)
    if (isJsonObject(answer) && typeof answer.call_id === 'string') return answer as unknown as CallOutcome
    throw problemOf(answer, reply.status)
  }

  async loginPath(): Promise<string> {
    return (await this.#ask<{ path: string }>({ method: 'POST', path: '/api/login-links' })).path
  }

  /** Any other route: the state's records and tokens, which need no servers. */
  async #ask<Answer>(request: ApiRequest): Promise<Answer> {
    const reply = await this.#exchange(request)
    const answer = await readJson(reply)
    if (reply.status >= 400) throw problemOf(answer, reply.status)
    return answer as Answer
  }
}

export function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}

async function readJson({ status, body }: ApiReply): Promise<unknown> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw problemOf(undefined, status)
  }
}

/** The error that the gateway sent, as if it had been thrown here. */
function problemOf(answer: unknown, status: number): SallyportError {
  const error = isJsonObject(answer) ? answer.error : undefined
  if (isJsonObject(error) && typeof error.code === 'string' && Object.hasOwn(ERRORS, error.code)) {
    const details = typeof error.hint === 'string' ? { hint: error.hint } : {}
    return new SallyportError(error.code as ErrorCode, String(error.message), details)
  }
  return new SallyportError('GATEWAY_UNREACHABLE', `The gateway gave an answer that is not understood (HTTP ${status}).`, {
    hint: 'It may be of another version: restart it.',
  })
}
