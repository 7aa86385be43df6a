import { isJsonObject, type Principal, type ServerInstance, toOwnerKey } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { type Frame, parseFrame } from '../../upstream/upstream.ts'

/** A server may create any number of tasks; the oldest are removed first. */
const MAX_TASKS = 10_000
const MAX_ID_LENGTH = 1_000
/** An answer that creates a task has no result yet, so it is small. */
const MAX_ANSWER_BYTES = 1_000_000

interface OwnedTask {
  readonly owner: string
  readonly offer: Offer
  /** For a server with two instances. */
  readonly madeBy: ServerInstance | undefined
}

interface TaskAnswer {
  readonly frame: Frame
  readonly instance?: ServerInstance | undefined
}

/** Which tool created a task, and for whom: later requests about the task go to its server, and the tool's rules apply. */
export class TaskOwners {
  /** By task id: two servers, or one server for two callers, may use the same id. */
  readonly #tasks = new Map<string, readonly OwnedTask[]>()

  /** Stores the task of an answer, if the answer has one. */
  remember(principal: Principal, offer: Offer, { frame, instance }: TaskAnswer): void {
    if (frame.envelope.bytes > MAX_ANSWER_BYTES) return
    const { result } = parseFrame(frame)
    if (!isJsonObject(result)) return
    const { taskId } = isJsonObject(result.task) ? result.task : result
    if (typeof taskId !== 'string' || taskId.length > MAX_ID_LENGTH) return
    const owner = toOwnerKey(principal)
    const others = (this.#tasks.get(taskId) ?? []).filter((task) => task.owner !== owner)
    const [oldest] = this.#tasks.keys()
    if (this.#tasks.size >= MAX_TASKS && oldest !== undefined && !this.#tasks.has(taskId)) this.#tasks.delete(oldest)
    this.#tasks.set(taskId, [...others, { owner, offer, madeBy: instance }])
  }

  find(principal: Principal, taskId: string): Pick<OwnedTask, 'offer' | 'madeBy'> | undefined {
    const owner = toOwnerKey(principal)
    return this.#tasks.get(taskId)?.find((task) => task.owner === owner)
  }
}
