import { isJsonObject, type JsonObject } from '@sallyport/core'
import { type Frame, parseFrame, scanFrame } from '../upstream/upstream.ts'

/** The result of a tool that stands in what is told of its task. */
export interface TaskResult {
  readonly frame: Frame
  /** What is told of the task, with another result in it. */
  wrap(result: Frame): Frame
}

/** Undefined where the task has no result yet. `shown`: what the caller gets to see of the task itself. */
export function readTaskResult(told: Frame, shown: (task: JsonObject) => JsonObject): TaskResult | undefined {
  const { result: task } = parseFrame(told)
  if (!isJsonObject(task) || !isJsonObject(task.result)) return undefined
  return {
    frame: toFrame(task.result),
    wrap: (frame) => toFrame({ ...shown(task), result: parseFrame(frame).result ?? null }),
  }
}

const toFrame = (result: object): Frame => scanFrame([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, result }))])
