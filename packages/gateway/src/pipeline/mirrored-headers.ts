import { formatParam, isJsonObject } from '@sallyport/core'
import { encodeHeaderValue } from '@sallyport/kit/http-intake'
import { findHeaderParams } from '../catalog/catalog.ts'
import type { Call } from './call.ts'

/** The headers that go with a call: what its tool wants repeated of the arguments, and what the client sent besides. */
export function mirroredHeaders({ method, offer, params, headers }: Call): readonly string[] | undefined {
  const repeated = method === 'tools/call' ? findHeaderParams(offer) : []
  if (repeated.length === 0) return headers
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  const mirrored = repeated.flatMap((param) => {
    const text = formatParam(param, args)
    return text === undefined ? [] : [param.header, encodeHeaderValue(text)]
  })
  return headers ? [...mirrored, ...headers] : mirrored
}
