import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { ANSWER_WRITERS, sendJson } from './model-answers.ts'
import { type ModelApi, REQUEST_READERS } from './model-requests.ts'
import {
  answerByScript,
  type Conversation,
  fullName,
  type ModelAnswer,
  progressOf,
  type ToolResult,
} from './scripted-answer.ts'

/** A request for a completion, and what was answered. */
export interface ModelRequest {
  readonly api: ModelApi
  /** Everything that the client offered, its own tools included. */
  readonly tools: readonly string[]
  /** The results of the script's calls. */
  readonly results: readonly ToolResult[]
  /** What the client answered to searches for deferred tools. */
  readonly searches: readonly ToolResult[]
  readonly body: string
  readonly answer: ModelAnswer
}

export interface ScriptedModelOptions {
  /** Awaited before a request is answered, so that a test can change something between two turns. */
  readonly before?: (request: ModelRequest) => Promise<void>
  /** Its answer, if it does not follow a script in its prompt. */
  readonly decide?: (conversation: Conversation) => ModelAnswer
}

const ROUTES: readonly (readonly [RegExp, ModelApi])[] = [
  [/\/messages$/, 'anthropic'],
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/:(stream)?generateContent$/i, 'gemini'],
]

/** Other requests of clients; the path may have any prefix. */
const ASIDES: readonly (readonly [RegExp, object])[] = [
  [/\/messages\/count_tokens$/, { input_tokens: 100 }],
  [/:countTokens$/, { totalTokens: 100 }],
  [
    /\/models$/,
    { object: 'list', has_more: false, data: [{ id: 'scripted', object: 'model', type: 'model' }], models: [] },
  ],
]

export async function openScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const model = new ScriptedModel(options)
  await model.listen()
  return model
}

/** A language model on loopback whose prompt is its script: see script.ts. */
export class ScriptedModel {
  readonly requests: ModelRequest[] = []
  /** Requests that it does not support. */
  readonly unknown: string[] = []
  readonly #before: (request: ModelRequest) => Promise<void>
  readonly #answers: (conversation: Conversation) => ModelAnswer
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: Error) =>
      sendJson(response, { error: { message: error.message } }, 400),
    )
  })

  constructor({ before = async () => {}, decide = answerByScript }: ScriptedModelOptions) {
    this.#before = before
    this.#answers = decide
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    const text = await readText(request)
    const api = ROUTES.find(([path]) => path.test(url.pathname))?.[1]
    if (request.method === 'POST' && api) {
      const body = JSON.parse(text)
      return ANSWER_WRITERS[api]({ response, body, url, answer: await this.#decide(api, body, text) })
    }
    const aside = ASIDES.find(([path]) => path.test(url.pathname))?.[1]
    if (aside) return sendJson(response, aside)
    this.unknown.push(`${request.method} ${url.pathname}`)
    sendJson(
      response,
      { error: { type: 'not_found_error', message: `The scripted model has no ${url.pathname}.` } },
      404,
    )
  }

  async #decide(api: ModelApi, body: Record<string, unknown>, text: string): Promise<ModelAnswer> {
    const read = REQUEST_READERS[api](body)
    const answer = this.#answers({ ...read, everything: text.replace(/\\[nrt]/g, ' ') })
    const { results, searches } = progressOf(read)
    const request = { api, tools: read.tools.map(fullName), results, searches, answer, body: text }
    this.requests.push(request)
    await this.#before(request)
    if ('calls' in answer) await delay(Math.max(0, ...answer.calls.map(({ waitMs = 0 }) => waitMs)))
    return answer
  }
}
