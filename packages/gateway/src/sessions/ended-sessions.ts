import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, messageOf, type Principal, toOwnerKey, tryParseJson } from '@sallyport/core'
import { causeCode, replaceFile } from '../disk/disk.ts'

export interface EndedSessionsOptions {
  /** The state folder. The caller must hold its lock. */
  readonly state: string
  readonly onWarning: (text: string) => void
}

type Owner = Pick<Principal, 'user' | 'session'>

/**
 * The sessions that an operator has ended. A credential keeps its name for its session, so the next session of that name
 * gets a number: `local`, `local~2`, `local~3`. What was said or stored in an earlier one belongs to that one alone.
 */
export class EndedSessions {
  readonly #options: EndedSessionsOptions
  readonly #path: string
  /** By owner: how many sessions of that name have ended. */
  readonly #counts: Map<string, number>
  readonly #renewed = new WeakMap<Principal, { readonly count: number; readonly principal: Principal }>()

  constructor(options: EndedSessionsOptions) {
    this.#options = options
    this.#path = join(options.state, 'ended-sessions.json')
    this.#counts = this.#read()
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

  /** Ends a session by its current name. When this resolves to the name of the next one, that is on disk. */
  async end({ user, session }: Owner): Promise<string> {
    const name = this.#nameOf({ user, session })
    const key = toOwnerKey({ user, session: name })
    const count = (this.#counts.get(key) ?? 0) + 1
    const counts = new Map(this.#counts).set(key, count)
    await replaceFile(this.#path, `${JSON.stringify({ ended: Object.fromEntries(counts) })}\n`, { mode: 0o600 })
    this.#counts.set(key, count)
    return numbered(name, count)
  }

  /** The name in the credential: `local` for `local~2`, if that is the session after one that ended. */
  #nameOf({ user, session }: Owner): string {
    const [, name = session, number = ''] = /^(.+)~(\d+)$/s.exec(session) ?? []
    return this.#counts.get(toOwnerKey({ user, session: name })) === Number(number) - 1 ? name : session
  }

  /** Without the file the earlier sessions go on, with the labels that they had: that is the stricter way. */
  #read(): Map<string, number> {
    try {
      const content = tryParseJson(readFileSync(this.#path, 'utf8'))
      const ended = isJsonObject(content) ? content.ended : undefined
      if (isJsonObject(ended)) return new Map(Object.entries(ended).filter(isCount))
      this.#options.onWarning(`${this.#path} is damaged: sessions that were ended go on under their first name.`)
    } catch (error) {
      if (causeCode(error) !== 'ENOENT')
        this.#options.onWarning(`${this.#path} cannot be read (${messageOf(error)}): sessions that were ended go on.`)
    }
    return new Map()
  }
}

const isCount = (entry: [string, unknown]): entry is [string, number] => Number.isSafeInteger(entry[1])

/** The first session has no number. */
const numbered = (name: string, ended: number): string => `${name}~${ended + 1}`
