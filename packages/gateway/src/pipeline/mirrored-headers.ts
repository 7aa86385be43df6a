import { isJsonObject, paramText } from '@sallyport/core'
import { headerText } from '../upstream/upstream.ts'
import type { Call } from './call.ts'

/** The headers that go with a call: what its tool wants repeated of the arguments, and what the client sent besides. */
export function mirroredHeaders({ method, offer, params, headers }: Call): readonly string[] | undefined {
  if (offer.mcpParams === undefined || method !== 'tools/call') return headers
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  const mirrored = offer.mcpParams.flatMap((param) => {
    const text = paramText(param, args)
    return text === undefined ? [] : [param.header, headerText(text)]
  })
  return headers ? [...mirrored, ...headers] : mirrored
}
