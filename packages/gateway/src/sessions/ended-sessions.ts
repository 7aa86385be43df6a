import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  messageOf,
  type Principal,
  parseOwnerKey,
  toOwnerKey,
  tryParseJson,
} from '@sallyport/core'
import { causeCode, replaceFile } from '../disk/disk.ts'

export interface EndedSessionsOptions {
  /** The state folder. The caller must hold its lock. */
  readonly state: string
  readonly onWarning: (text: string) => void
}

type Owner = Pick<Principal, 'user' | 'session'>

/** When the data that a session has stored is removed. */
export interface DataRemoval {
  readonly owner: Owner
  /** When the session ended, in milliseconds since 1970. */
  readonly ended: number
  /** Its data is removed at once, and not after its retention. */
  readonly isPurged: boolean
}

/**
 * The sessions that an operator has ended. A credential keeps its name for its session, so the next session of that name
 * gets a number: `local`, `local~2`, `local~3`. What was said or stored in an earlier one belongs to that one alone.
 */
export class EndedSessions {
  readonly #options: EndedSessionsOptions
  readonly #path: string
  /** By owner: how many sessions of that name have ended. */
  #counts = new Map<string, number>()
  /** By owner: ended sessions whose data is still to be removed. */
  #removals = new Map<string, DataRemoval>()
  /** By owner: servers that have removed what they stored of it. The others still have to. */
  #atServers = new Map<string, readonly string[]>()
  /** Sessions whose data was removed since the start. A connection may still be open in one of them. */
  readonly #removed = new Set<string>()
  readonly #renewed = new WeakMap<Principal, { readonly count: number; readonly principal: Principal }>()
  #writing: Promise<unknown> = Promise.resolve()

  constructor(options: EndedSessionsOptions) {
    this.#options = options
    this.#path = join(options.state, 'ended-sessions.json')
    this.#read()
  }

  /** The same caller in the session that its credential means now. */
  renew(principal: Principal): Principal {
    const count = this.#counts.size === 0 ? undefined : this.#counts.get(toOwnerKey(principal))
    if (count === undefined) return principal
    const known = this.#renewed.get(principal)
    if (known?.count === count) return known.principal
    const renewed = Object.freeze({ ...principal, session: numbered(principal.session, count) })
    this.#renewed.set(principal, { count, principal: renewed })
    return renewed
  }

  /**
   * Ends a session by its current name. When this resolves to the name of the next one, that is on disk, and so is when
   * its data is removed. A session that has ended already stays so, but its data can be purged later.
   */
  end({ user, session }: Owner, how: Omit<DataRemoval, 'owner'>): Promise<string> {
    return this.#change((counts, removals, atServers) => {
      const { name, number } = this.#parse({ user, session })
      const key = toOwnerKey({ user, session: name })
      const ended = Math.max(counts.get(key) ?? 0, number)
      counts.set(key, ended)
      const owner = { user, session }
      removals.set(toOwnerKey(owner), { owner, ...how })
      if (how.isPurged) atServers.set(toOwnerKey(owner), [])
      return numbered(name, ended)
    })
  }

  /** Whether no new connection is in this session. */
  hasEnded(owner: Owner): boolean {
    const { name, number } = this.#parse(owner)
    return number <= (this.#counts.get(toOwnerKey({ user: owner.user, session: name })) ?? 0)
  }

  /** Whether a session stores nothing any more: its data was removed, or is about to be. */
  isClosed(owner: Owner): boolean {
    const key = toOwnerKey(owner)
    return this.#removed.has(key) || this.#removals.get(key)?.isPurged === true
  }

  /** The data that is still to be removed. */
  get removals(): readonly DataRemoval[] {
    return [...this.#removals.values()]
  }

  /** From now on the session stores nothing, as long as this process runs. No later process has connections in it. */
  close(owner: Owner): void {
    this.#removed.add(toOwnerKey(owner))
  }

  /** Its data is gone here. Servers that stored some of it remove it next. */
  async forgetRemoval(owner: Owner): Promise<void> {
    const key = toOwnerKey(owner)
    this.#removed.add(key)
    if (!this.#removals.has(key)) return
    await this.#change((_, removals, atServers) => {
      removals.delete(key)
      if (!atServers.has(key)) atServers.set(key, [])
    })
  }

  /** The sessions of which servers may still store something, and the servers that do not any more. */
  get removalsAtServers(): readonly { readonly owner: Owner; readonly done: readonly string[] }[] {
    return [...this.#atServers].map(([key, done]) => ({ owner: parseOwnerKey(key), done }))
  }

  /** These servers store nothing of the session any more. `isAll`: and no other one does. */
  async forgetAtServers(owner: Owner, { done, isAll }: { done: readonly string[]; isAll: boolean }): Promise<void> {
    const key = toOwnerKey(owner)
    await this.#change((_, __, atServers) => {
      if (isAll) atServers.delete(key)
      else atServers.set(key, done)
    })
  }

  /** The name in the credential, and which of its sessions it is: `local` and 2 for `local~2`, if `local` has ended. */
  #parse({ user, session }: Owner): { readonly name: string; readonly number: number } {
    const [, name = session, digits = ''] = /^(.+)~(\d+)$/s.exec(session) ?? []
    const number = Number(digits)
    const ended = this.#counts.get(toOwnerKey({ user, session: name })) ?? 0
    return number > 1 && number <= ended + 1 ? { name, number } : { name: session, number: 1 }
  }

  /** One change after the other, each on disk before it is in force. */
  #change<Result>(
    change: (
      counts: Map<string, number>,
      removals: Map<string, DataRemoval>,
      atServers: Map<string, readonly string[]>,
    ) => Result,
  ): Promise<Result> {
    const changing = this.#writing.then(async () => {
      const [counts, removals, atServers] = [new Map(this.#counts), new Map(this.#removals), new Map(this.#atServers)]
      const result = change(counts, removals, atServers)
      const text = JSON.stringify({
        ended: Object.fromEntries(counts),
        removals: formatRemovals(removals),
        at_servers: Object.fromEntries(atServers),
      })
      await replaceFile(this.#path, `${text}\n`, { mode: 0o600 })
      this.#counts = counts
      this.#removals = removals
      this.#atServers = atServers
      return result
    })
    this.#writing = changing.catch(() => undefined)
    return changing
  }

  /** Without the file the earlier sessions go on, with the labels that they had: that is the stricter way. */
  #read(): void {
    try {
      const content = tryParseJson(readFileSync(this.#path, 'utf8'))
      if (!isJsonObject(content) || !isJsonObject(content.ended)) {
        this.#options.onWarning(`${this.#path} is damaged: sessions that were ended go on under their first name.`)
        return
      }
      this.#counts = new Map(Object.entries(content.ended).filter(isCount))
      this.#removals = parseRemovals(isJsonObject(content.removals) ? content.removals : {})
      this.#atServers = parseAtServers(isJsonObject(content.at_servers) ? content.at_servers : {})
    } catch (error) {
      if (causeCode(error) !== 'ENOENT')
        this.#options.onWarning(`${this.#path} cannot be read (${messageOf(error)}): sessions that were ended go on.`)
    }
  }
}

const isCount = (entry: [string, unknown]): entry is [string, number] => Number.isSafeInteger(entry[1])

/** The first session has no number. */
const numbered = (name: string, ended: number): string => `${name}~${ended + 1}`

const formatRemovals = (removals: ReadonlyMap<string, DataRemoval>): JsonObject =>
  Object.fromEntries(
    [...removals].map(([key, { ended, isPurged }]) => [
      key,
      { ended: new Date(ended).toISOString(), purged: isPurged },
    ]),
  )

/** What cannot be read is asked for again: that removes nothing twice. */
const parseAtServers = (written: JsonObject): Map<string, readonly string[]> =>
  new Map(
    Object.entries(written).map(([key, done]) => [
      key,
      isJsonList(done) ? done.filter((one): one is string => typeof one === 'string') : [],
    ]),
  )

/** An unreadable time counts as long ago: data that is removed early is better than data that stays. */
function parseRemovals(written: JsonObject): Map<string, DataRemoval> {
  const removals = Object.entries(written).map(([key, removal]): [string, DataRemoval] => {
    const { ended, purged } = isJsonObject(removal) ? removal : {}
    const time = typeof ended === 'string' ? Date.parse(ended) : Number.NaN
    return [key, { owner: parseOwnerKey(key), ended: Number.isNaN(time) ? 0 : time, isPurged: purged === true }]
  })
  return new Map(removals)
}
