import { type FoundPath, findPaths, findUriPaths, isJsonObject, type JsonObject } from '@sallyport/core'
import type { Call } from '../call.ts'

/** Every path in a call. Where paths are depends on the method. */
export function collectPaths(
  call: Pick<Call, 'offer' | 'params'>,
  pathArguments?: readonly string[],
): readonly FoundPath[] {
  const { offer, params } = call
  switch (offer.kind) {
    case 'tool':
      return findPaths(objectIn(params.arguments), offer.original.inputSchema, pathArguments)
    case 'prompt':
      return findPaths(valuesIn(params), undefined, pathArguments)
    case 'question':
      return []
    default:
      return findUriPaths(uriIn(params) ?? offer.name)
  }
}

/** The requested URI. For the completion of a template, the template filled with the values so far. */
function uriIn(params: JsonObject): string | undefined {
  if (typeof params.uri === 'string') return params.uri
  const { uri } = objectIn(params.ref)
  return typeof uri === 'string' ? expandTemplate(uri, valuesIn(params)) : undefined
}

/** The arguments of a prompt. For a completion, the known values and the value to complete. */
function valuesIn(params: JsonObject): JsonObject {
  const { name, value } = objectIn(params.argument)
  const known = { ...objectIn(objectIn(params.context).arguments), ...objectIn(params.arguments) }
  return typeof name === 'string' && value !== undefined ? { ...known, [name]: value } : known
}

const EXPRESSION = /\{[+#./;?&]?([^{}]*)\}/g
const MODIFIER = /(\*|:\d+)$/

/** Expands a template like RFC 6570, but without encoding, since path rules decode values anyway. */
const expandTemplate = (template: string, values: JsonObject): string =>
  template.replaceAll(EXPRESSION, (_whole, names: string) =>
    names
      .split(',')
      .map((name) => textOf(values, name.trim().replace(MODIFIER, '')))
      .join('/'),
  )

const textOf = (values: JsonObject, name: string): string => (Object.hasOwn(values, name) ? String(values[name]) : '')

const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : NOTHING)

const NOTHING: JsonObject = Object.freeze({})
