import { MODERN_VERSION } from '@sallyport/core'
import { encodeHeaderValue } from '@sallyport/kit/http-intake'
import type { EncodedRequest } from '../transport.ts'

const POST_HEADERS = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream']
const STREAM_HEADERS = ['accept', 'text/event-stream']

/** The headers of each request: the operator's own, and those that the protocol requires in the agreed era. */
export class McpHeaders {
  readonly #own: readonly string[]
  #version: string | undefined
  #session: string | undefined
  #legacyPost: readonly string[]

  constructor(own: readonly string[]) {
    this.#own = own
    this.#legacyPost = [...POST_HEADERS, ...own]
  }

  get isModern(): boolean {
    return this.#version !== undefined && this.#version >= MODERN_VERSION
  }

  get isLegacy(): boolean {
    return this.#version !== undefined && this.#version < MODERN_VERSION
  }

  get session(): string | undefined {
    return this.#session
  }

  setVersion(version: string): void {
    this.#version = version
    this.#legacyPost = [...POST_HEADERS, ...this.#own, ...this.#legacyState()]
  }

  beginSession(id: string): void {
    this.#session = id
    this.#legacyPost = [...POST_HEADERS, ...this.#own, ...this.#legacyState()]
  }

  endSession(): void {
    this.#session = undefined
  }

  /** Returns the same array each time in the legacy era: every call uses this. */
  forPost({
    method,
    name,
    headers: more = [],
  }: Pick<EncodedRequest['call'], 'method' | 'name' | 'headers'>): readonly string[] {
    if (method === 'initialize') return [...POST_HEADERS, ...this.#own]
    if (!this.isModern && method !== 'server/discover') return this.#legacyPost
    const version = this.#version ?? MODERN_VERSION
    const headers = [...POST_HEADERS, ...this.#own, 'mcp-protocol-version', version]
    if (method !== '') headers.push('mcp-method', encodeHeaderValue(method))
    if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name))
    headers.push(...more)
    return headers
  }

  forStream(lastEventId: string | undefined): readonly string[] {
    const headers = [...STREAM_HEADERS, ...this.#own, ...this.#legacyState()]
    if (lastEventId !== undefined) headers.push('last-event-id', lastEventId)
    return headers
  }

  forDelete(): readonly string[] {
    return [...this.#own, ...this.#legacyState()]
  }

  #legacyState(): readonly string[] {
    const version = this.#version === undefined ? [] : ['mcp-protocol-version', this.#version]
    return this.#session === undefined ? version : [...version, 'mcp-session-id', this.#session]
  }
}
