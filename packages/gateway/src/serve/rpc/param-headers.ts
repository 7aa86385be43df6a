import {
  formatParam,
  isJsonObject,
  type JsonObject,
  type McpParam,
  matchesParam,
  PARAM_PREFIX,
  quoteText,
  SallyportError,
} from '@sallyport/core'
import { decodeHeaderValue } from '@sallyport/kit/http-intake'
import { findHeaderParams, type Offer } from '../../catalog/catalog.ts'
import type { Carrier } from './carrier.ts'

/** What intermediaries were told of the arguments must be what the arguments say (2026-07-28, "Server Validation"). */
export function checkParamHeaders(offer: Offer, params: JsonObject, carrier: Carrier): SallyportError | undefined {
  const repeated = findHeaderParams(offer)
  if (repeated.length === 0) return undefined
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  for (const param of repeated) {
    const expected = formatParam(param, args)
    const [given, another] = headerValues(carrier, param.header)
    if (given === undefined && expected === undefined) continue
    if (given === undefined) return mismatch(param, 'is missing')
    if (another !== undefined) return mismatch(param, 'stands twice')
    const text = decodeHeaderValue(given)
    if (text === undefined) return mismatch(param, 'cannot be read')
    if (!matchesParam(param, args, text)) return mismatch(param, 'does not say what the body says')
  }
  return undefined
}

function headerValues({ rawHeaders }: Carrier, header: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === header)
}

/** Headers of that kind that mean nothing to us; the protocol wants them passed on. */
export function unknownParamHeaders(offer: Offer, { rawHeaders }: Carrier): readonly string[] | undefined {
  let foreign: string[] | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    // Nearly none is as long.
    if (given.length <= PARAM_PREFIX.length) continue
    const name = given.toLowerCase()
    if (!name.startsWith(PARAM_PREFIX) || findHeaderParams(offer).some(({ header }) => header === name)) continue
    const value = rawHeaders[at + 1] as string
    if (!/^[\t\x20-\x7e]*$/.test(value)) continue
    foreign ??= []
    foreign.push(name, value)
  }
  return foreign
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
