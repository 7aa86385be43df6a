import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { SHAPED_META } from '@sallyport/kit'
import { onlyText } from './result-text.ts'

/** What is no result of a tool is shown as the JSON that it is: it must not pass by being wrong. */
export function normalizeResult(result: Json | undefined): JsonObject {
  const isOne = isJsonObject(result) && (result.content === undefined || isBlockList(result.content))
  if (isOne) return result.content === undefined ? { ...result, content: [] } : result
  return { content: [{ type: 'text', text: JSON.stringify(result ?? null) }] }
}

const isBlockList = (content: Json): boolean => Array.isArray(content) && content.every(isJsonObject)

/** What is kept of a result: its text where it is nothing else. */
export const toFullText = (result: JsonObject): string => onlyText(result) ?? JSON.stringify(result)

/** Under which the first of what was left out is kept. */
export function handleIn({ _meta }: JsonObject): string | undefined {
  const facts = ((_meta as JsonObject | undefined)?.[SHAPED_META] as JsonObject | undefined)?.results
  const first = Array.isArray(facts) ? (facts[0] as JsonObject | undefined) : undefined
  return typeof first?.handle === 'string' ? first.handle : undefined
}

/** What a task tells of itself without a word of the server's: its id, its state, and when to ask again. */
export function stripTask(result: JsonObject): JsonObject {
  const { task } = result
  return isJsonObject(task) ? { task: stripFields(task) } : stripFields(result)
}

const stripFields = (task: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(task).filter(([key, value]) => TASK_FIELDS.has(key) && isPlainToken(value)))

const TASK_FIELDS: ReadonlySet<string> = new Set([
  ...['taskId', 'status', 'resultType', 'createdAt', 'lastUpdatedAt'],
  ...['ttl', 'ttlMs', 'pollInterval', 'pollIntervalMs'],
])

/** No sentence, whatever its key. */
const isPlainToken = (value: Json | undefined): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && /^[\w.:+/=-]{1,128}$/.test(value))

/** The result is still to come: this says only of which task. */
export const isTask = ({ content, structuredContent, task, taskId }: JsonObject): boolean =>
  (content === undefined || (Array.isArray(content) && content.length === 0)) &&
  structuredContent === undefined &&
  (typeof taskId === 'string' || isJsonObject(task))
