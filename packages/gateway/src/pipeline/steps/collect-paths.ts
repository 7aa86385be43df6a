import { type FoundPath, findPaths, findUriPaths, isJsonObject, type JsonObject } from '@sallyport/core'
import type { Call } from '../call.ts'

/** Every path that a call names, wherever its method has them. */
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

/** The URI that is asked for; to complete a template is to look at what it leads to with the values so far. */
function uriIn(params: JsonObject): string | undefined {
  if (typeof params.uri === 'string') return params.uri
  const { uri } = objectIn(params.ref)
  return typeof uri === 'string' ? expandTemplate(uri, valuesIn(params)) : undefined
}

/** What a prompt is given; of a completion what is known so far, and the beginning that is to be completed. */
function valuesIn(params: JsonObject): JsonObject {
  const { name, value } = objectIn(params.argument)
  const known = { ...objectIn(objectIn(params.context).arguments), ...objectIn(params.arguments) }
  return typeof name === 'string' && value !== undefined ? { ...known, [name]: value } : known
}

const EXPRESSION = /\{[+#./;?&]?([^{}]*)\}/g
const MODIFIER = /(\*|:\d+)$/

/** As RFC 6570 fills a template in, but for the encoding, which the rules look through anyway. */
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
