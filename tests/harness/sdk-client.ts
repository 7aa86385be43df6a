import { StreamableHTTPClientTransport as ModernHttp, Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacySdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { MAIN, type RunningGateway } from './run-gateway.ts'

type Json = Record<string, any>

export interface CallOptions {
  readonly onprogress?: (progress: Json) => void
  readonly signal?: AbortSignal
  /** From which level on a modern client wants to hear what concerns the call. */
  readonly logLevel?: string
}

/** A client built on one of the SDKs that answers whatever it is asked. */
export interface SdkClient {
  readonly era: 'legacy' | 'modern'
  /** Every message that came, in order. */
  readonly received: readonly Json[]
  /** Every question that it answered, in order. */
  readonly asked: readonly Json[]
  /** The methods that both SDKs have and call the same. */
  readonly plain: PlainMethods
  call(name: string, args?: Json, options?: CallOptions): Promise<Json>
  /** Returns how to stop. */
  subscribe(uri: string): Promise<() => Promise<unknown>>
  close(): Promise<void>
}

interface PlainMethods {
  listTools(): Promise<{ tools: Json[] }>
  listResources(): Promise<{ resources: Json[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: Json[] }>
  listPrompts(): Promise<{ prompts: Json[] }>
  readResource(params: { uri: string }): Promise<{ contents: Json[] }>
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<Json>
  complete(params: Json): Promise<{ completion: Json }>
  setLoggingLevel(level: string): Promise<unknown>
  subscribeResource(params: { uri: string }): Promise<unknown>
  unsubscribeResource(params: { uri: string }): Promise<unknown>
  getServerCapabilities(): Json
  setRequestHandler(schema: object, answer: (request: Json) => Promise<Json>): void
  /** Of the v1 SDK alone. */
  readonly experimental: { readonly tasks: { callToolStream(params: Json): AsyncIterable<Json> } }
}

/** What the client says to the questions of servers. */
export const ANSWERS = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada', check: true, integer: 7 } },
  'sampling/createMessage': { role: 'assistant', model: 'scripted', content: { type: 'text', text: 'forty-two' } },
  'roots/list': { roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] },
} as const

type Answers = Readonly<Record<keyof typeof ANSWERS, object>>
type Method = keyof typeof ANSWERS
const METHODS = Object.keys(ANSWERS) as Method[]
const V1_SCHEMAS = {
  'elicitation/create': ElicitRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'roots/list': ListRootsRequestSchema,
}

const identity = { name: 'real-client', version: '1.0.0' }
export const DECLARED = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } }

/** The SDKs lose notifications that come in one read with the answer (typescript-sdk#2580): they are heard here before. */
function tap(transport: { onmessage?: unknown }): Json[] {
  const received: Json[] = []
  transport.onmessage = (message: Json) => void received.push(message)
  return received
}

const answering =
  (answer: object, asked: Json[]) =>
  (request: Json): never => {
    asked.push(request)
    return answer as never
  }

async function subscribeLegacy(plain: PlainMethods, uri: string): Promise<() => Promise<unknown>> {
  await plain.subscribeResource({ uri })
  return () => plain.unsubscribeResource({ uri })
}

/** On a transport of its own, to whatever server. */
export async function openV1(
  transport: LegacyHttp | LegacyStdio,
  answers: Answers = ANSWERS,
  capabilities: object = DECLARED,
): Promise<SdkClient> {
  const client = new LegacySdkClient(identity, { capabilities })
  const asked: Json[] = []
  for (const method of METHODS) client.setRequestHandler(V1_SCHEMAS[method] as never, answering(answers[method], asked))
  const received = tap(transport)
  await client.connect(transport as never)
  const plain = client as unknown as PlainMethods
  return {
    era: 'legacy',
    received,
    asked,
    plain,
    call: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: args }, undefined, options as never) as Promise<Json>,
    subscribe: (uri) => subscribeLegacy(plain, uri),
    close: async () => {
      if (transport instanceof LegacyHttp) await transport.terminateSession()
      await client.close()
    },
  }
}

type Negotiation = 'legacy' | 'auto' | { readonly pin: string }

/** On a transport of its own, to whatever server. */
export async function openV2(
  transport: ModernHttp | ModernStdio,
  mode: Negotiation,
  answers: Answers = ANSWERS,
): Promise<SdkClient> {
  const era = mode === 'legacy' ? 'legacy' : 'modern'
  const client = new ModernSdkClient(identity, { capabilities: DECLARED, versionNegotiation: { mode } } as never)
  const asked: Json[] = []
  for (const method of METHODS) client.setRequestHandler(method, answering(answers[method], asked))
  const received = tap(transport)
  await client.connect(transport)
  const plain = client as unknown as PlainMethods
  return {
    era,
    received,
    asked,
    plain,
    call: (name, args = {}, { logLevel, ...options } = {}) => {
      const meta = logLevel && { _meta: { 'io.modelcontextprotocol/logLevel': logLevel } }
      return client.callTool({ name, arguments: args, ...meta }, options as never)
    },
    subscribe: async (uri) => {
      if (era === 'legacy') return subscribeLegacy(plain, uri)
      const listening = await client.listen({ resourceSubscriptions: [uri] })
      return () => listening.close()
    },
    close: async () => {
      if (era === 'legacy' && transport instanceof ModernHttp) await transport.terminateSession()
      await client.close()
    },
  }
}

const url = ({ mcp }: RunningGateway): URL => new URL(mcp)
const relay = ({ home, state }: RunningGateway) => ({
  command: process.execPath,
  args: [MAIN, 'serve', '--stdio', '--home', home, '--state', state],
})

const MODERN = { pin: '2026-07-28' }

type OpenSdkClient = (gateway: RunningGateway, answers?: Answers) => Promise<SdkClient>

/** Every SDK, era and transport that a client can come by. */
export const SDK_CLIENTS: Readonly<Record<string, OpenSdkClient>> = {
  'the v1 SDK over HTTP': (gateway, answers) => openV1(new LegacyHttp(url(gateway)), answers),
  'the v1 SDK over stdio': (gateway, answers) => openV1(new LegacyStdio(relay(gateway)), answers),
  'the v2 SDK in the legacy era over HTTP': (gateway, answers) =>
    openV2(new ModernHttp(url(gateway)), 'legacy', answers),
  'the v2 SDK in the legacy era over stdio': (gateway, answers) =>
    openV2(new ModernStdio(relay(gateway)), 'legacy', answers),
  'the v2 SDK in the modern era over HTTP': (gateway, answers) => openV2(new ModernHttp(url(gateway)), MODERN, answers),
  'the v2 SDK in the modern era over stdio': (gateway, answers) =>
    openV2(new ModernStdio(relay(gateway)), MODERN, answers),
  'the v2 SDK that probes, over stdio': (gateway, answers) => openV2(new ModernStdio(relay(gateway)), 'auto', answers),
}
