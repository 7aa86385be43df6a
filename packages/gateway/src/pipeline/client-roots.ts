import { isJsonObject, type Json, type JsonObject, toOwnerKey } from '@sallyport/core'
import type { Call } from './call.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** The owner of roots: a server remembers them for one conversation, or for all calls of a session without one. */
export type RootsOwner = Pick<Call, 'client' | 'principal'> & { readonly offer: Pick<Call['offer'], 'server'> }

/** An in-flight call. Its server may use roots that it learns while the call runs. */
export interface RunningCall {
  readonly asked: Call
  readonly judged: JudgedCall
}

/** Rechecks such a call; true if it is still allowed. */
type Recheck = (running: RunningCall) => Promise<boolean> | boolean

/** Far more than the possible number of connections with roots. */
const MAX_OWNERS = 10_000
/** If there are more, they are not sent to the server. */
const MAX_ROOTS = 32

const NONE: readonly string[] = Object.freeze([])

/**
 * The folders that clients gave to servers as their roots. A server may resolve relative paths against them, so path rules
 * have to know them. Roots are not trusted: an agent can choose them so that a harmless path leads to a forbidden file.
 */
export class ClientRoots {
  readonly #given = new Map<string, Set<string>>()
  readonly #running = new Map<string, Set<RunningCall>>()

  /** The root URIs of the client that the server of a call knows, or learns from this call. */
  readonly rootsFor = (call: Call): readonly string[] => {
    const { inputResponses } = call.params
    const answered = isJsonObject(inputResponses) ? Object.values(inputResponses).flatMap(readRoots) : NONE
    const given = this.#given.size === 0 ? undefined : this.#given.get(keyOf(call))
    if (given === undefined) return answered
    return [...given, ...answered]
  }

  /** Registers a call whose paths are checked and whose client has roots; `undefined` for other calls. */
  begin(asked: Call, judged: JudgedCall): RunningCall | undefined {
    if (!judged.context.rules.dependsOnPaths || asked.client?.capabilities.roots === undefined) return undefined
    const running = { asked, judged }
    const key = keyOf(asked)
    this.#running.set(key, (this.#running.get(key) ?? new Set()).add(running))
    return running
  }

  end(running: RunningCall): void {
    const key = keyOf(running.asked)
    const others = this.#running.get(key)
    others?.delete(running)
    if (others?.size === 0) this.#running.delete(key)
  }

  /**
   * Whether the server may get these roots. Its in-flight calls were checked without them, so each is rechecked.
   * If one would no longer be allowed, the server does not get the roots.
   */
  async admit(owner: RootsOwner, answer: Json, recheck: Recheck): Promise<boolean> {
    const roots = readRoots(answer)
    if (roots.length === 0) return true
    const key = keyOf(owner)
    // All roots of a conversation: nobody knows which of them a server uses, and since when.
    const known = new Set([...(this.#given.get(key) ?? []), ...roots])
    if (known.size > MAX_ROOTS) return false
    this.#remember(key, known)
    for (const running of [...(this.#running.get(key) ?? [])]) if (!(await recheck(running))) return false
    return true
  }

  #remember(key: string, roots: Set<string>): void {
    // Moves the key to the end: the first key is always the oldest.
    this.#given.delete(key)
    this.#given.set(key, roots)
    const [oldest] = this.#given.keys()
    if (this.#given.size > MAX_OWNERS && oldest !== undefined) this.#given.delete(oldest)
  }

  /** The conversation has ended, and so have its connections. */
  forget(conversation: string): void {
    for (const key of this.#given.keys()) if (key.endsWith(`\n${conversation}`)) this.#given.delete(key)
  }
}

const keyOf = ({ offer, client, principal }: RootsOwner): string =>
  `${offer.server}\n${toOwnerKey(principal)}\n${client?.conversation ?? ''}`

function readRoots(answer: Json | undefined): readonly string[] {
  const roots = isJsonObject(answer) ? answer.roots : undefined
  if (!Array.isArray(roots)) return NONE
  return roots.map((root: JsonObject) => (isJsonObject(root) && typeof root.uri === 'string' ? root.uri : '\0'))
}
