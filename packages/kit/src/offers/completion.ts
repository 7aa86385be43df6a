import { isJsonObject, type JsonObject } from '@sallyport/core'
import { type Answer, errorAnswer, INVALID_PARAMS } from '../json-rpc.ts'
import type { Definitions } from './definitions.ts'

/** Suggests values for what the user has typed so far. `others` are the arguments that are already filled in. */
export type Completer = (
  typed: string,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>

/** The protocol's own limit for one answer. */
const MAX_VALUES = 100

/** Finds the completer for `completion/complete`: `undefined` if the argument has none, or an error. */
export async function complete(definitions: Definitions, params: JsonObject): Promise<Answer> {
  const { ref, argument, context } = params
  if (!isJsonObject(argument) || typeof argument.name !== 'string' || typeof argument.value !== 'string')
    return errorAnswer(INVALID_PARAMS, 'params.argument is missing; expected { name, value }.')
  const completers = isJsonObject(ref) ? findCompleters(definitions, ref) : undefined
  if (completers === undefined)
    return errorAnswer(INVALID_PARAMS, 'params.ref does not name a prompt or a resource template of this server.')
  const completer = completers.get(argument.name)
  const values: unknown = (await completer?.(argument.value, readStringArguments(context))) ?? []
  if (!Array.isArray(values) || values.some((value) => typeof value !== 'string'))
    throw new TypeError('A completer did not return an array of strings.')
  const completion = {
    values: values.slice(0, MAX_VALUES),
    total: values.length,
    hasMore: values.length > MAX_VALUES,
  }
  return { result: { completion } }
}

type Completers = ReadonlyMap<string, Completer | undefined>

function findCompleters(definitions: Definitions, { type, name, uri }: JsonObject): Completers | undefined {
  if (type === 'ref/prompt') return definitions.prompts.get(String(name))?.completers
  return type === 'ref/resource' ? definitions.templates.get(String(uri))?.completers : undefined
}

function readStringArguments(context: unknown): Readonly<Record<string, string>> {
  const given = isJsonObject(context) && isJsonObject(context.arguments) ? context.arguments : {}
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
