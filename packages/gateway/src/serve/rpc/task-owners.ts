import { isJsonObject, type Principal, toOwnerKey } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { type Frame, parseFrame } from '../../upstream/upstream.ts'

/** A server may make tasks without end; the oldest are forgotten first. */
const MAX_TASKS = 10_000
const MAX_ID_LENGTH = 1_000
/** An answer that speaks of a task has its result still to come. */
const MAX_ANSWER_BYTES = 1_000_000

interface OwnedTask {
  readonly owner: string
  readonly offer: Offer
}

/** Which tool made a task, and for whom: what is asked of the task later goes there, and is decided as the tool is. */
export class TaskOwners {
  /** Two servers, or one server for two callers, may use the same id. */
  readonly #tasks = new Map<string, readonly OwnedTask[]>()

  /** Notes the task that an answer speaks of, if it does. */
  remember(principal: Principal, offer: Offer, frame: Frame): void {
    if (frame.envelope.bytes > MAX_ANSWER_BYTES) return
    const { result } = parseFrame(frame)
    if (!isJsonObject(result)) return
    const { taskId } = isJsonObject(result.task) ? result.task : result
    if (typeof taskId !== 'string' || taskId.length > MAX_ID_LENGTH) return
    const owner = toOwnerKey(principal)
    const others = (this.#tasks.get(taskId) ?? []).filter((made) => made.owner !== owner)
    const [oldest] = this.#tasks.keys()
    if (this.#tasks.size >= MAX_TASKS && oldest !== undefined && !this.#tasks.has(taskId)) this.#tasks.delete(oldest)
    this.#tasks.set(taskId, [...others, { owner, offer }])
  }

  find(principal: Principal, taskId: string): Offer | undefined {
    const owner = toOwnerKey(principal)
    return this.#tasks.get(taskId)?.find((made) => made.owner === owner)?.offer
  }
}
