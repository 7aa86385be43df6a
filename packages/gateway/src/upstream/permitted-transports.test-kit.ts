import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createMcpServer, READ } from '@sallyport/kit'
import { onTestFinished } from 'vitest'
import { InProcessTransport } from './built-in/in-process-transport.ts'
import { httpConfig, MODERN_META, openTransport, type Recorder } from './http/http-transport.test-kit.ts'
import { LegacySseTransport } from './http/legacy-sse-transport.ts'
import { StreamableHttpTransport } from './http/streamable-http-transport.ts'
import { GATEWAY_PERMIT, type Permit } from './permit.ts'
import { openWatchdog } from './processes/processes.ts'
import { StderrTail } from './stderr-tail.ts'
import { freshMark, stdioConfig } from './stdio/stdio.test-kit.ts'
import { StdioTransport } from './stdio/stdio-transport.ts'
import type { Transport } from './transport.ts'

/** A transport to a server that records which calls reach it. */
export interface TestTransport {
  readonly transport: Transport
  readonly events: Recorder
  /** The names of the calls that reached the server. */
  reached(): Promise<readonly string[]>
  /** From now on calls must wait, until the function that this resolves to is called. */
  readonly waits: Readonly<Record<string, () => Promise<() => void>>>
}

let lastId = 0

/** Sends a call of this name and returns its id. */
export function ask({ transport }: Pick<TestTransport, 'transport'>, name: string, options: AskOptions = {}): number {
  const { permit = GATEWAY_PERMIT, weight = 0, session, currentName } = options
  const id = ++lastId
  const params = { name, arguments: weight > 0 ? { text: 'x'.repeat(weight) } : {}, _meta: MODERN_META }
  const encode = (of: string): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, name: of } })
  const currentText = currentName && (() => encode(currentName()))
  transport.request({
    ...{ id, call: { method: 'tools/call', params, name, permit, session }, text: encode(name) },
    currentText,
  })
  return id
}

interface AskOptions {
  readonly permit?: Permit
  readonly weight?: number
  readonly session?: string
  /** The name as it is when the call is written. */
  readonly currentName?: () => string
}

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name: string }
}

const answerTo = ({ id }: Message, text: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })

/** Answers each call with the names of all so far. */
const READER = `
import { createInterface } from 'node:readline'
const names = []
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, params } = JSON.parse(line)
  if (params.name !== 'seen') names.push(params.name)
  const text = JSON.stringify(names)
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }) + '\\n')
})
`

export async function openStdioTransport(): Promise<TestTransport> {
  const mark = freshMark('permit')
  const watchdog = openWatchdog({ runMark: mark, environment: process.env, onWarning: () => {} })
  onTestFinished(() => watchdog.close())
  const config = stdioConfig({ args: ['--input-type=module', '-e', READER] })
  const options = { config, environment: process.env, mark, watchdog, stderr: new StderrTail() }
  const { transport, events } = await openTransport(new StdioTransport(options))
  const fillPipe = async (): Promise<() => void> => {
    const pid = transport.pid as number
    process.kill(pid, 'SIGSTOP')
    ask({ transport }, 'filler', { weight: 1_000_000 })
    return () => void process.kill(pid, 'SIGCONT')
  }
  const reached = async (): Promise<readonly string[]> => {
    const { result } = await events.answer(ask({ transport }, 'seen'))
    const names = JSON.parse(result?.content?.[0]?.text ?? '[]') as string[]
    return names.filter((name) => name !== 'filler')
  }
  return { transport, events, reached, waits: { 'for a full pipe': fillPipe } }
}

/** What an HTTP server of a test does with a message: it reports when it has received it. */
class HttpServer {
  readonly names: string[] = []
  readonly #held: (() => void)[] = []
  readonly #sockets = new Set<Socket>()
  #isHolding = false
  #stream: ServerResponse | undefined

  async listen(): Promise<string> {
    const server = createServer((request, response) => void this.#serve(request, response))
    server.on('connection', (socket) => this.#sockets.add(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(async () => {
      for (const socket of this.#sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  get held(): number {
    return this.#held.length
  }

  /** From now on it finishes no POST, until the returned function is called. */
  hold(): () => void {
    this.#isHolding = true
    return () => {
      this.#isHolding = false
      for (const finish of this.#held.splice(0)) finish()
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return this.#open(request, response)
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const message = JSON.parse(text) as Message
    if (message.params?.name && message.params.name !== 'filler') this.names.push(message.params.name)
    const finish = (): void => this.#answer(message, response)
    if (this.#isHolding) this.#held.push(finish)
    else finish()
  }

  #open(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET') return void response.writeHead(405).end()
    this.#stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: endpoint\ndata: /messages\n\n')
  }

  #answer(message: Message, response: ServerResponse): void {
    if (message.id === undefined) return void response.writeHead(202).end()
    const answer = answerTo(message, 'done')
    if (!this.#stream) return void response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    response.writeHead(202).end()
    this.#stream.write(`event: message\ndata: ${answer}\n\n`)
  }
}

const ALL_CONNECTIONS = 128

async function openHttpTransport(
  make: (url: string) => Transport,
  more: (testTransport: TestTransport, server: HttpServer) => TestTransport['waits'] = () => ({}),
) {
  const server = new HttpServer()
  const { transport, events } = await openTransport(make(await server.listen()))
  const useAll = async (): Promise<() => void> => {
    const release = server.hold()
    for (let count = 0; count < ALL_CONNECTIONS; count++) ask({ transport }, 'filler')
    await until(() => server.held === ALL_CONNECTIONS)
    return release
  }
  const connecting = async (): Promise<() => void> => () => undefined
  const waits = { 'for its connection to be made': connecting, 'while all connections are in use': useAll }
  const testTransport: TestTransport = { transport, events, reached: async () => server.names, waits }
  return { ...testTransport, waits: { ...waits, ...more(testTransport, server) } }
}

export function openStreamableTransport(): Promise<TestTransport> {
  return openHttpTransport(
    (url) => new StreamableHttpTransport({ config: httpConfig(url) }),
    ({ transport }, server) => ({
      'for the end of the handshake': async () => {
        const release = server.hold()
        transport.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        await until(() => server.held === 1)
        return release
      },
    }),
  )
}

export const openSseTransport = (): Promise<TestTransport> =>
  openHttpTransport((url) => new LegacySseTransport({ config: httpConfig(url, { kind: 'sse' }) }))

export async function openInProcessTransport(): Promise<TestTransport> {
  const names: string[] = []
  const server = createMcpServer('here')
  for (const name of ['first', 'late', 'after'])
    server.tool(name, { description: '', permission: READ }, () => {
      names.push(name)
      return 'done'
    })
  const transport = new InProcessTransport({ server, maxMessageBytes: 1_000_000 })
  const { events } = await openTransport(transport)
  return { transport, events, reached: async () => names, waits: {} }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}
