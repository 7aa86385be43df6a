import {
  isJsonObject,
  type JsonObject,
  type McpParam,
  PARAM_PREFIX,
  paramAgrees,
  paramText,
  quoteText,
  SallyportError,
} from '@sallyport/core'
import { readHeaderText } from '@sallyport/kit/http-intake'
import { type Offer, repeatedParams } from '../catalog/catalog.ts'
import type { Carrier } from './carrier.ts'

/** What intermediaries were told of the arguments must be what the arguments say (2026-07-28, "Server Validation"). */
export function paramFlaw(offer: Offer, params: JsonObject, carrier: Carrier): SallyportError | undefined {
  const repeated = repeatedParams(offer)
  if (repeated.length === 0) return undefined
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  for (const param of repeated) {
    const expected = paramText(param, args)
    const [given, another] = carrier.headersDistinct[param.header] ?? []
    if (given === undefined && expected === undefined) continue
    if (given === undefined) return mismatch(param, 'is missing')
    if (another !== undefined) return mismatch(param, 'stands twice')
    const text = readHeaderText(given)
    if (text === undefined) return mismatch(param, 'cannot be read')
    if (!paramAgrees(param, args, text)) return mismatch(param, 'does not say what the body says')
  }
  return undefined
}

/** Headers of that kind that mean nothing to us; the protocol wants them passed on. */
export function foreignParamHeaders(offer: Offer, { headers }: Carrier): readonly string[] | undefined {
  const foreign: string[] = []
  for (const name in headers) {
    if (!name.startsWith(PARAM_PREFIX) || repeatedParams(offer).some(({ header }) => header === name)) continue
    const value = headers[name]
    if (typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value)) foreign.push(name, value)
  }
  return foreign.length > 0 ? foreign : undefined
}

/** Neither value is told: arguments may be secrets. */
function mismatch({ header, path }: McpParam, what: string): SallyportError {
  const argument = quoteText(path.join('.'), 200)
  return new SallyportError(
    'HEADER_MISMATCH',
    `The header ${header}, which repeats the argument ${argument}, ${what}.`,
    {
      hint: 'List the tools again: an x-mcp-header tells which arguments are repeated.',
    },
  )
}
