import { isJsonObject, type JsonObject, RESULT_META } from '@sallyport/core'

/** A preset by its name, or its settings. */
export type NamedPreset = string | JsonObject

/** The preset that a server names for its result; `undefined` if there is none, or if it is malformed. */
export function readNamedPreset(claims: JsonObject): NamedPreset | undefined {
  const named = claims[RESULT_META]
  if (!isJsonObject(named)) return undefined
  const preset = Object.hasOwn(named, 'preset') ? named.preset : named
  return typeof preset === 'string' || isJsonObject(preset) ? preset : undefined
}
