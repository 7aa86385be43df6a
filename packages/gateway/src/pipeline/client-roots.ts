import { isJsonObject, type Json, type JsonObject, toOwnerKey } from '@sallyport/core'
import type { Call } from './call.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** Whose roots they are: a server keeps them for one conversation, or for all calls of a session that has none. */
export type RootsOwner = Pick<Call, 'client' | 'principal'> & { readonly offer: Pick<Call['offer'], 'server'> }

/** A call that a server carries out, and may carry out with roots that it learns meanwhile. */
export interface RunningCall {
  readonly asked: Call
  readonly judged: JudgedCall
}

/** Judges such a call again, now. */
type Recheck = (running: RunningCall) => Promise<boolean> | boolean

/** Far more than there can be connections that such roots were given to. */
const MAX_OWNERS = 10_000
/** More are not passed on. */
const MAX_ROOTS = 32

const NONE: readonly string[] = Object.freeze([])

/**
 * The folders that clients gave to servers as their roots. A server may read relative paths from there, so that path rules
 * have to know them; what a client gives is an agent's word, and can be given to turn a harmless path into a forbidden one.
 */
export class ClientRoots {
  readonly #given = new Map<string, Set<string>>()
  readonly #running = new Map<string, Set<RunningCall>>()

  /** The URIs that the server of a call knows, or learns with this very call, as its client's roots. */
  readonly rootsFor = (call: Call): readonly string[] => {
    const { inputResponses } = call.params
    const answered = isJsonObject(inputResponses) ? Object.values(inputResponses).flatMap(readRoots) : NONE
    const given = this.#given.size === 0 ? undefined : this.#given.get(keyOf(call))
    if (given === undefined) return answered
    return [...given, ...answered]
  }

  /** Only of a call whose paths are judged, and whose client has roots to give. */
  begin(asked: Call, trial: JudgedCall): RunningCall | undefined {
    if (!trial.context.rules.dependsOnPaths || asked.client?.capabilities.roots === undefined) return undefined
    const running = { asked, judged: trial }
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
   * Whether the server may be told these roots. Calls that it carries out were judged without them: each is judged again,
   * and one that would not be allowed now keeps the roots from the server.
   */
  async admit(owner: RootsOwner, answer: Json, rejudge: Recheck): Promise<boolean> {
    const roots = readRoots(answer)
    if (roots.length === 0) return true
    const key = keyOf(owner)
    // All of a conversation: which of them a server goes by, and from when on, is not known.
    const known = new Set([...(this.#given.get(key) ?? []), ...roots])
    if (known.size > MAX_ROOTS) return false
    this.#remember(key, known)
    for (const running of [...(this.#running.get(key) ?? [])]) if (!(await rejudge(running))) return false
    return true
  }

  #remember(key: string, roots: Set<string>): void {
    // The last one is the youngest.
    this.#given.delete(key)
    this.#given.set(key, roots)
    const [oldest] = this.#given.keys()
    if (this.#given.size > MAX_OWNERS && oldest !== undefined) this.#given.delete(oldest)
  }

  /** The conversation is over, and with it the connections that were made for it. */
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
