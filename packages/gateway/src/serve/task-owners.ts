import { isJsonObject, ownerOf, type Principal } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { type Frame, parseFrame } from '../upstream/upstream.ts'

/** A server may make tasks without end; the oldest are forgotten first. */
const MOST = 10_000
const LONGEST_ID = 1_000
/** An answer that speaks of a task has its result still to come. */
const MOST_BYTES = 1_000_000

interface Made {
  readonly owner: string
  readonly offer: Offer
}

/** Which tool made a task, and for whom: what is asked of the task later goes there, and is decided as the tool is. */
export class TaskOwners {
  /** Two servers, or one server for two callers, may use the same id. */
  readonly #made = new Map<string, readonly Made[]>()

  /** Notes the task that an answer speaks of, if it does. */
  note(principal: Principal, offer: Offer, frame: Frame): void {
    if (frame.envelope.bytes > MOST_BYTES) return
    const { result } = parseFrame(frame)
    if (!isJsonObject(result)) return
    const { taskId } = isJsonObject(result.task) ? result.task : result
    if (typeof taskId !== 'string' || taskId.length > LONGEST_ID) return
    const owner = ownerOf(principal)
    const others = (this.#made.get(taskId) ?? []).filter((made) => made.owner !== owner)
    const [oldest] = this.#made.keys()
    if (this.#made.size >= MOST && oldest !== undefined && !this.#made.has(taskId)) this.#made.delete(oldest)
    this.#made.set(taskId, [...others, { owner, offer }])
  }

  find(principal: Principal, taskId: string): Offer | undefined {
    const owner = ownerOf(principal)
    return this.#made.get(taskId)?.find((made) => made.owner === owner)?.offer
  }
}
