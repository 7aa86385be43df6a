import { isJsonObject, type Json, type JsonObject, RESULT_META } from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { sliceBytes } from './splice.ts'

/** A preset by its name, or its settings. */
export type NamedPreset = string | JsonObject

/** A larger `_meta` is not read for it. */
const MAX_META_BYTES = 65_536

/** The preset that a server names in the `_meta` of a result; `undefined` if there is none, or if it is malformed. */
export function readNamedPreset({ parts, envelope }: Frame): NamedPreset | undefined {
  // The scanner has found no member of ours: that is so for nearly all answers.
  if (envelope.reservedMembers === undefined) return undefined
  const member = envelope.resultMembers?.find(({ key }) => key === '_meta')
  if (member === undefined || member.end - member.value > MAX_META_BYTES) return undefined
  const meta: Json = JSON.parse(sliceBytes(parts, member.value, member.end).toString('utf8'))
  const named = isJsonObject(meta) ? meta[RESULT_META] : undefined
  if (!isJsonObject(named)) return undefined
  const preset = Object.hasOwn(named, 'preset') ? named.preset : named
  return typeof preset === 'string' || isJsonObject(preset) ? preset : undefined
}
