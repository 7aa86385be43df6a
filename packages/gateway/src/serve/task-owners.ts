import { isJsonObject, ownerOf, type Principal } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Frame } from '../upstream/upstream.ts'

/** A server may make tasks without end; the oldest are forgotten first. */
const MOST = 10_000

/** Which tool made a task: whatever is asked of the task later goes to the tool's server, and is decided as the tool is. */
export class TaskOwners {
  readonly #offers = new Map<string, Offer>()

  /** Notes the task that an answer speaks of, if it does. */
  note(principal: Principal, offer: Offer, frame: Frame): void {
    const { result } = JSON.parse(Buffer.concat(frame.parts).toString('utf8')) as { readonly result?: unknown }
    if (!isJsonObject(result)) return
    const { taskId } = isJsonObject(result.task) ? result.task : result
    if (typeof taskId !== 'string') return
    const [oldest] = this.#offers.keys()
    if (this.#offers.size >= MOST && oldest !== undefined) this.#offers.delete(oldest)
    this.#offers.set(nameOf(principal, taskId), offer)
  }

  find(principal: Principal, taskId: string): Offer | undefined {
    return this.#offers.get(nameOf(principal, taskId))
  }
}

/** Two servers, or one server for two callers, may use the same id. */
const nameOf = (principal: Principal, taskId: string): string => `${ownerOf(principal)}\n${taskId}`
