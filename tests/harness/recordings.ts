import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from './run-gateway.ts'

type Json = Record<string, any>

/** What real clients sent until their first call was answered. Ids and times in them are made up. */
const RECORDINGS = join(REPOSITORY, 'tests/fixtures/handshakes')

/** The clients of which there is a recording, each with its version. */
export const clientsOver = (carrier: 'stdio' | 'http'): readonly string[] =>
  readdirSync(RECORDINGS)
    .filter((file) => file.endsWith(`.${carrier}.jsonl`))
    .map((file) => file.slice(0, -`.${carrier}.jsonl`.length))

export const readLines = (file: string): readonly Json[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

export const recordingOf = (client: string, carrier: 'stdio' | 'http'): readonly Json[] =>
  readLines(join(RECORDINGS, `${client}.${carrier}.jsonl`))

/** The message of an answer: plain JSON, or the last event of a stream for clients that name streams first. */
export async function readAnswer(response: Response): Promise<Json> {
  const text = await response.text()
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  return JSON.parse(isStream ? text.slice(text.lastIndexOf('\ndata: ') + '\ndata: '.length) : text)
}

/** Sends what a client sent over HTTP, with a current credential and session. */
export class HttpReplay {
  readonly #url: string
  readonly #token: string
  readonly #over = new AbortController()
  #session = ''

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  async say({ verb, headers, message }: Json): Promise<Response> {
    const sent = { ...headers, authorization: `Bearer ${this.#token}` }
    if (sent['mcp-session-id'] !== undefined) sent['mcp-session-id'] = this.#session
    const body = message && { body: JSON.stringify(message) }
    const response = await fetch(this.#url, { method: verb, headers: sent, signal: this.#over.signal, ...body })
    this.#session = response.headers.get('mcp-session-id') ?? this.#session
    return response
  }

  /** Ends the streams that it has open. */
  close(): void {
    this.#over.abort()
  }
}
