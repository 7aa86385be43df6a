/** A bare MCP client over HTTP, so that tests see exactly what goes over the wire. */
export interface RpcAnswer {
  readonly status: number
  readonly headers: Headers
  /** The answer, whichever way it came. */
  readonly message: Record<string, any>
  /** Everything that came before it on the stream. */
  readonly before: readonly Record<string, any>[]
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<RpcAnswer> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const response = await fetch(url, { method: 'POST', headers: { ...HEADERS, ...headers }, body: text })
  const messages = parseMessages(await response.text(), response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    message: messages.at(-1) ?? {},
    before: messages.slice(0, -1),
  }
}

function parseMessages(text: string, type: string): Record<string, any>[] {
  if (text === '') return []
  if (!type.startsWith('text/event-stream')) return [JSON.parse(text)]
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)))
}

let nextId = 1

/** A legacy session: it began with `initialize`. */
export class LegacyClient {
  readonly session: string
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(url: string, session: string, headers: Record<string, string>) {
    this.session = session
    this.#url = url
    this.#headers = { ...headers, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
  }

  static async open(url: string, headers: Record<string, string> = {}, name = 'test'): Promise<LegacyClient> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '1' } }
    const answer = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers)
    const session = answer.headers.get('mcp-session-id')
    if (!session) throw new Error(`no session: ${answer.status} ${JSON.stringify(answer.message)}`)
    return new LegacyClient(url, session, headers)
  }

  request(method: string, params: object = {}, id: string | number = nextId++): Promise<RpcAnswer> {
    return post(this.#url, { jsonrpc: '2.0', id, method, params }, this.#headers)
  }

  async call(name: string, args: object = {}): Promise<Record<string, any>> {
    const { message } = await this.request('tools/call', { name, arguments: args })
    return message.result ?? message
  }

  notify(method: string, params: object = {}): Promise<RpcAnswer> {
    return post(this.#url, { jsonrpc: '2.0', method, params }, this.#headers)
  }
}

/** What every request of the modern era carries in `_meta`. */
export const MODERN_ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** One request of the modern era, with the headers that repeat it. */
export function modernRequest(
  url: string,
  method: string,
  params: Record<string, any> = {},
  headers: Record<string, string> = {},
): Promise<RpcAnswer> {
  const name = params.name ?? params.uri ?? params.taskId
  const repeated = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
  const body = {
    jsonrpc: '2.0',
    id: nextId++,
    method,
    params: { ...params, _meta: { ...MODERN_ENVELOPE, ...params._meta } },
  }
  return post(url, body, { ...repeated, ...headers })
}
