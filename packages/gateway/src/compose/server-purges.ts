import {
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
  type Principal,
  quoteText,
  toOwnerKey,
} from '@sallyport/core'
import { type CallerTokens, type EndedSessions, PURGE_METHOD } from '../sessions/sessions.ts'
import { type CallRoute, GATEWAY_PERMIT, parseFrame, type Upstream } from '../upstream/upstream.ts'

type Owner = Pick<Principal, 'user' | 'session'>

/** What came of asking a server to remove what it has stored of a session. */
export interface ServerPurge {
  readonly server: string
  /** `unsupported`: it does not know such a request. `failed`: it is asked again. */
  readonly outcome: 'removed' | 'unsupported' | 'failed'
  readonly files: number
  readonly bytes: number
  readonly reason?: string
}

export interface ServerPurgesOptions {
  readonly ended: EndedSessions
  /** The ids of those that know who calls, also of those that are disabled. */
  readonly servers: () => readonly string[]
  readonly find: (server: string) => Upstream | undefined
  readonly callers: Pick<CallerTokens, 'findForPurge'>
  readonly onWarning: (text: string) => void
}

const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000
const TIMEOUT_MS = 10_000
const METHOD_NOT_FOUND = -32601
const SHOWN_CHARS = 200

/** Has servers remove what they have stored of sessions that were purged, or whose retention is over. */
export class ServerPurges {
  readonly #options: ServerPurgesOptions
  #timer: NodeJS.Timeout | undefined
  #delay = FIRST_RETRY_MS
  /** By owner: the requests of one session are sent one after the other. */
  readonly #purging = new Map<string, Promise<unknown>>()
  /** By owner: sessions that will be asked about again, one after the other. */
  readonly #retrying = new Set<string>()
  #retries: Promise<unknown> = Promise.resolve()
  #isClosed = false
  readonly #warned = new Set<string>()

  constructor(options: ServerPurgesOptions) {
    this.#options = options
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#retries
    await Promise.all(this.#purging.values())
  }

  /**
   * Resolves when every server has answered, or could not be reached. It does not wait for other sessions, about which a
   * server may keep silent.
   */
  purge(owner: Owner): Promise<readonly ServerPurge[]> {
    const key = toOwnerKey(owner)
    const purging = (this.#purging.get(key) ?? Promise.resolve()).then(() => this.#purge(owner))
    const ended = purging
      .catch(() => undefined)
      .then(() => {
        if (this.#purging.get(key) === ended) this.#purging.delete(key)
      })
    this.#purging.set(key, ended)
    return purging
  }

  /** Asks about all sessions whose data a server may still have. A server that has just connected will answer now. */
  retry(warnsOf?: 'failed'): void {
    for (const { owner } of this.#options.ended.removalsAtServers) {
      const key = toOwnerKey(owner)
      if (this.#retrying.has(key)) continue
      this.#retrying.add(key)
      this.#retries = this.#retries.then(() => {
        this.#retrying.delete(key)
        return this.#retry(owner, warnsOf)
      })
    }
  }

  async #retry(owner: Owner, warnsOf: 'failed' | undefined): Promise<void> {
    try {
      const outcomes = await this.purge(owner)
      this.#warn(
        owner,
        outcomes.filter(({ outcome }) => outcome === 'unsupported' || outcome === warnsOf),
      )
    } catch (error) {
      this.#options.onWarning(messageOf(error))
    }
  }

  #warn({ user, session }: Owner, outcomes: readonly ServerPurge[]): void {
    for (const { server, outcome, reason } of outcomes) {
      const text = `What server ${server} stored of session ${session} of ${user} could not be removed${outcome === 'failed' ? ` yet: ${reason}` : ': it does not know how'}`
      if (this.#warned.has(`${server}\n${user}\n${session}`)) continue
      this.#warned.add(`${server}\n${user}\n${session}`)
      this.#options.onWarning(text)
    }
  }

  async #purge(owner: Owner): Promise<readonly ServerPurge[]> {
    const { ended, servers } = this.#options
    if (this.#isClosed) return []
    const pending = ended.removalsAtServers.find((one) => toOwnerKey(one.owner) === toOwnerKey(owner))
    if (pending === undefined) return []
    const open = servers().filter((id) => !pending.done.includes(id))
    const outcomes = await Promise.all(open.map((id) => this.#ask(id, owner)))
    const answered = outcomes.filter(({ outcome }) => outcome !== 'failed').map(({ server }) => server)
    if (answered.length < outcomes.length) this.#retryLater()
    else this.#delay = FIRST_RETRY_MS
    await ended.forgetAtServers(owner, {
      done: [...pending.done, ...answered],
      isAll: answered.length === outcomes.length,
    })
    return outcomes
  }

  #retryLater(): void {
    clearTimeout(this.#timer)
    const isLast = this.#delay === MAX_RETRY_MS
    // Only then it is worth a warning: a server that has just connected may need a moment.
    this.#timer = setTimeout(() => this.retry(isLast ? 'failed' : undefined), this.#delay).unref()
    this.#delay = Math.min(2 * this.#delay, MAX_RETRY_MS)
  }

  async #ask(server: string, owner: Owner): Promise<ServerPurge> {
    const asked = { server, files: 0, bytes: 0 }
    const upstream = this.#options.find(server)
    if (upstream === undefined)
      return { ...asked, outcome: 'failed', reason: 'It is disabled, or has not been started yet.' }
    try {
      const routes = upstream.counterpart === undefined ? [undefined] : [routeTo('normal'), routeTo('isolated')]
      let sum: ServerPurge = { ...asked, outcome: 'removed' }
      for (const route of routes) sum = add(sum, readAnswer(await this.#send(upstream, owner, route)))
      return sum
    } catch (error) {
      return { ...asked, outcome: 'failed', reason: messageOf(error) }
    }
  }

  async #send(upstream: Upstream, owner: Owner, route: CallRoute | undefined): Promise<JsonObject> {
    const principal: Principal = { ...owner, agent: 'sallyport', profile: 'default', role: 'agent' }
    const reply = await upstream.request({
      ...{ method: PURGE_METHOD, params: {}, name: '', session: toOwnerKey(owner), route },
      permit: GATEWAY_PERMIT,
      caller: this.#options.callers.findForPurge(principal),
      endsSession: true,
      isBackground: true,
      limit: { timeout: TIMEOUT_MS, setBy: 'the gateway' },
    })
    return parseFrame(reply.frame)
  }
}

type Answered = Pick<ServerPurge, 'outcome' | 'files' | 'bytes'>

function readAnswer({ result, error }: JsonObject): Answered {
  if (isJsonObject(error)) {
    if (error.code === METHOD_NOT_FOUND) return { outcome: 'unsupported', files: 0, bytes: 0 }
    const said = typeof error.message === 'string' ? `: ${quoteText(error.message, SHOWN_CHARS)}` : ''
    throw new Error(`It answered with an error${said}.`)
  }
  const { files, bytes }: JsonObject = isJsonObject(result) ? result : {}
  if (!isCount(files) || !isCount(bytes)) throw new Error('Its answer does not say how much it has removed.')
  return { outcome: 'removed', files, bytes }
}

/** `1e999` is valid JSON, and is parsed as Infinity. */
const isCount = (value: Json | undefined): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const add = (sum: ServerPurge, { outcome, files, bytes }: Answered): ServerPurge => ({
  ...sum,
  outcome: outcome === 'removed' ? sum.outcome : outcome,
  files: sum.files + files,
  bytes: sum.bytes + bytes,
})

/** Both instances of a server may store data of a session. */
const routeTo = (instance: 'normal' | 'isolated'): CallRoute => ({
  isPrivate: instance === 'isolated',
  madeBy: instance,
  findRefusal: () => undefined,
  choose: () => undefined,
})
