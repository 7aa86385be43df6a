import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Message } from './flood-bench.ts'

/** What a hostile model does with one request. */
export type Mischief = (request: IncomingMessage, response: ServerResponse, body: Message) => void

export interface HostileModel {
  /** For `isolation.model`. */
  readonly settings: object
  readonly url: string
  readonly requests: readonly Message[]
}

export async function openHostileModel(mischief: Mischief): Promise<HostileModel> {
  const requests: Message[] = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await readText(request)) || '{}') as Message
    requests.push({ ...body, headers: request.headers })
    mischief(request, response, body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = { provider: 'openai-compatible', name: 'hostile', base_url: `${url}/v1`, api_key: 'made-for-this' }
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  return { settings, url, requests }
}

/** One completion with these calls of tools. */
export function makeCalls(response: ServerResponse, calls: readonly (readonly [name: string, input: unknown])[]): void {
  const tool_calls = calls.map(([name, input], index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
  }))
  const message = { role: 'assistant', content: null, tool_calls }
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  response.setHeader('content-type', 'application/json')
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'hostile', choices, usage }))
}
