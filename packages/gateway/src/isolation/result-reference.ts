import { cutText, findJsonValue, isJsonObject, type Json, type JsonObject, readJsonPath } from '@sallyport/core'
import { resultJsons, resultValue } from './result-text.ts'

/** What a sub-agent hands over: a result that it points at, a part of one, or a value that it wrote itself. */
export type AgentOutput =
  | { readonly kind: 'result'; readonly result: JsonObject; readonly asValue: Json | undefined }
  /** `json`: as the server wrote it, where it is not a string. */
  | { readonly kind: 'part'; readonly value: Json; readonly json?: string }
  | { readonly kind: 'written'; readonly value: Json }

/** Follows `{"$result": "r1"}`, with a `path` into JSON; anything else is itself. Says what is wrong with a reference. */
export function resolveOutput(output: Json, results: ReadonlyMap<string, JsonObject>): AgentOutput | string {
  if (!isJsonObject(output) || !Object.hasOwn(output, '$result')) return { kind: 'written', value: output }
  const { $result: id, path } = output
  const result = typeof id === 'string' ? results.get(id) : undefined
  if (result === undefined)
    return `There is no result ${JSON.stringify(id)}. There are: ${[...results.keys()].join(', ') || 'none yet'}.`
  if (path === undefined) return { kind: 'result', result, asValue: resultValue(result) }
  if (typeof path !== 'string') return 'Expected a path such as "$.rows[0].name".'
  return findPart(result, path) ?? `The result ${id} has nothing at ${JSON.stringify(cutText(path, MAX_PATH_LENGTH))}.`
}

const MAX_PATH_LENGTH = 200

/** A part of what the server wrote, not of what a parser made of it: its numbers keep their digits. */
function findPart(result: JsonObject, path: string): AgentOutput | undefined {
  const steps = readJsonPath(path)
  if (steps === undefined) return undefined
  for (const json of resultJsons(result)) {
    const found = findJsonValue(json, steps)
    if ('problem' in found) continue
    const written = json.slice(found.start, found.end)
    const value = JSON.parse(written) as Json
    return { kind: 'part', value, ...(typeof value !== 'string' && { json: written }) }
  }
  return undefined
}
