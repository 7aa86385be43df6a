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

/** Headers that repeat arguments for intermediaries must match the arguments (2026-07-28, "Server Validation"). */
export function checkParamHeaders(offer: Offer, params: JsonObject, carrier: Carrier): SallyportError | undefined {
  const repeated = findHeaderParams(offer)
  if (repeated.length === 0) return undefined
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  for (const param of repeated) {
    const expected = formatParam(param, args)
    const [given, another] = headerValues(carrier, param.header)
    if (given === undefined && expected === undefined) continue
    if (given === undefined) return mismatch(param, 'is missing')
    if (another !== undefined) return mismatch(param, 'appears twice')
    const text = decodeHeaderValue(given)
    if (text === undefined) return mismatch(param, 'cannot be read')
    if (!matchesParam(param, args, text)) return mismatch(param, 'does not match the body')
  }
  return undefined
}

function headerValues({ rawHeaders }: Carrier, header: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === header)
}

/** Parameter headers that we do not know; the protocol requires that they are passed on. */
export function unknownParamHeaders(offer: Offer, { rawHeaders }: Carrier): readonly string[] | undefined {
  let unknown: string[] | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    // Fast check: nearly all names are shorter.
    if (given.length <= PARAM_PREFIX.length) continue
    const name = given.toLowerCase()
    if (!name.startsWith(PARAM_PREFIX) || findHeaderParams(offer).some(({ header }) => header === name)) continue
    const value = rawHeaders[at + 1] as string
    if (!/^[\t\x20-\x7e]*$/.test(value)) continue
    unknown ??= []
    unknown.push(name, value)
  }
  return unknown
}

/** The message contains neither value: arguments may be secrets. */
function mismatch({ header, path }: McpParam, what: string): SallyportError {
  const argument = quoteText(path.join('.'), 200)
  return new SallyportError(
    'HEADER_MISMATCH',
    `The header ${header}, which repeats the argument ${argument}, ${what}.`,
    {
      hint: 'List the tools again: x-mcp-header shows which arguments are repeated.',
    },
  )
}
