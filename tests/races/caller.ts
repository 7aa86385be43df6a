import { createHmac } from 'node:crypto'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import type { Random } from './random.ts'

export const JWT_SECRET = 'a secret of thirty-two bytes or more, for tests'

const AGENTS = ['claude-code', 'codex', 'gemini-cli', 'any']

/** Whose session it is, as a verified token says. */
export interface Owner {
  readonly user: string
  readonly session: string
}

/** Calls a tool without HTTP. Resolves to the whole answer as JSON. */
export type DirectCall = (owner: Owner & { agent: string }, name: string, args: object) => Promise<string>

/** A session as its agents use it: with ever new tokens, connections, agents and eras. Every answer is its whole text. */
export class Caller {
  readonly owner: Owner
  readonly #mcp: () => string
  readonly #random: Random
  readonly #direct: DirectCall | undefined
  readonly #tokens: string[] = []
  #open: Promise<LegacyClient> | undefined
  #count = 0

  constructor(owner: Owner, given: { mcp: () => string; random: Random; direct?: DirectCall | undefined }) {
    this.owner = owner
    this.#mcp = given.mcp
    this.#random = given.random
    this.#direct = given.direct
  }

  get name(): string {
    return `${this.owner.user}/${this.owner.session}`
  }

  call(tool: string, args: object = {}): Promise<string> {
    if (this.#direct && this.#random.happens(0.8))
      return this.#direct({ ...this.owner, agent: this.#random.pick(AGENTS) }, tool, args)
    return this.request('tools/call', { name: tool, arguments: args })
  }

  async request(method: string, params: object): Promise<string> {
    if (method !== 'resources/subscribe' && this.#random.happens(0.6)) {
      const { message } = await modernRequest(this.#mcp(), method, params, this.#headers())
      return JSON.stringify(message)
    }
    if (this.#open === undefined || this.#random.happens(0.3))
      this.#open = LegacyClient.open(this.#mcp(), this.#headers(), `client-${this.#count++}`)
    const opening = this.#open
    // A gateway that was started again knows no earlier session.
    opening.catch(() => this.forget())
    const client = await opening
    return JSON.stringify((await client.request(method, params)).message)
  }

  /** The next request opens a new connection. */
  forget(): void {
    this.#open = undefined
  }

  /** One of up to three tokens of the same session, for different agents. */
  #headers(): { authorization: string } {
    if (this.#tokens.length < 3 && this.#random.happens(0.5)) this.#tokens.push(this.#mint())
    const token = this.#tokens.length > 0 ? this.#random.pick(this.#tokens) : this.#mint()
    return { authorization: `Bearer ${token}` }
  }

  #mint(): string {
    const { user, session } = this.owner
    const exp = Math.floor(Date.now() / 1_000) + 3_600
    const claims = { sub: user, session_id: session, agent: this.#random.pick(AGENTS), jti: `${this.#count++}`, exp }
    const parts = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    const body = parts.join('.')
    return `${body}.${createHmac('sha256', JWT_SECRET).update(body).digest('base64url')}`
  }
}
