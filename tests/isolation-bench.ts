import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { LegacyClient } from './mcp-client.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from './run-gateway.ts'

export type Message = Record<string, any>

/** A gateway before a server that returns what it is asked to. */
export interface IsolationBench {
  readonly gateway: RunningGateway
  readonly client: LegacyClient
  /** What reached the server. */
  calls(): readonly Message[]
}

export interface IsolationWish {
  /** Of the server's entry. */
  readonly entry?: object
  readonly config?: object
  readonly tools?: object
}

export async function openIsolationBench(wish: IsolationWish = {}): Promise<IsolationBench> {
  const { entry = {}, config = {}, tools } = wish
  const place = makePlace()
  const file = join(place.home, 'calls')
  const flood = { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/flood-server.mjs'), file], ...entry }
  place.writeConfig({ gateway: { startup_wait: '30s' }, mcp_servers: { db: flood }, ...config })
  if (tools) writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  const gateway = await runGateway({ place, args: ['--no-auth'] })
  const client = await LegacyClient.open(gateway.mcp, { authorization: `Bearer ${gateway.token('operator')}` })
  const lines = (): readonly string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])
  return { gateway, client, calls: () => lines().map((line) => JSON.parse(line) as Message) }
}

/** What a model that means harm does with one request. */
export type Mischief = (request: IncomingMessage, response: ServerResponse, body: Message) => void

export interface HostileModel {
  /** For `isolation.model`. */
  readonly settings: object
  readonly url: string
  readonly requests: Message[]
  close(): Promise<void>
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
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { settings, url, requests, close }
}

/** One completion with these calls of tools. */
export function sayCalls(response: ServerResponse, calls: readonly (readonly [name: string, input: unknown])[]): void {
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
