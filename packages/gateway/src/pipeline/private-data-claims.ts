import {
  cutText,
  HIGHEST_SENSITIVITY,
  hasDuplicateKey,
  higherSensitivity,
  isJsonList,
  isJsonObject,
  isSensitivity,
  type Json,
  type JsonObject,
  type Sensitivity,
  toPlainText,
} from '@sallyport/core'
import type { PrivateDataset } from '../governance/governance.ts'
import type { Frame } from '../upstream/upstream.ts'

/** What a trusted server sent: what it says in `_meta`, and its answer without that. */
interface Sent {
  readonly claims?: JsonObject | undefined
  readonly frame?: Frame | undefined
}

/** The key in which a kit server names the private data of a session. */
const PRIVATE_DATA = 'sallyport/private_data'

const MAX_NAMED = 50
const MAX_NAME_CHARS = 200

/** The private data that a trusted server names in its answer or question. */
export function readClaims(server: string, { claims, frame }: Sent): readonly PrivateDataset[] {
  const claim = claims?.[PRIVATE_DATA]
  const own = claim === undefined ? [] : readDatasets(server, claim)
  return frame === undefined ? own : [...own, ...findNestedClaims(server, frame)]
}

const STRUCTURED_CONTENT = 'structuredContent'

/**
 * A server may return the result of another one, with its `_meta`, as structured content. That is data, and passed on
 * unchanged, but what it says about itself still holds.
 */
function findNestedClaims(server: string, { parts, envelope }: Frame): readonly PrivateDataset[] {
  const { result, resultMembers } = envelope
  if (result === undefined || resultMembers?.every(({ key }) => key !== STRUCTURED_CONTENT)) return []
  const bytes = Buffer.concat(parts)
  // A key without escapes contains the first; with escapes, the second.
  if (!bytes.includes(PRIVATE_DATA) && !bytes.includes('\\u00') && !bytes.includes('\\/')) return []
  const text = bytes.toString('utf8', result.start, result.end)
  const found = [...listClaims(JSON.parse(text)[STRUCTURED_CONTENT])]
  if (found.length === 0) return []
  return hasDuplicateKey(text) ? readDatasets(server, null) : found.flatMap((claim) => readDatasets(server, claim))
}

function* listClaims(value: Json | undefined): Generator<Json> {
  if (isJsonList(value)) for (const each of value) yield* listClaims(each)
  if (!isJsonObject(value)) return
  const { _meta: meta } = value
  if (isJsonObject(meta) && Object.hasOwn(meta, PRIVATE_DATA)) yield meta[PRIVATE_DATA] ?? null
  for (const each of Object.values(value)) yield* listClaims(each)
}

/** Whatever cannot be read counts as the strictest, and the highest of several levels counts. */
function readDatasets(server: string, claim: Json): readonly PrivateDataset[] {
  const { sensitivity, datasets = [] }: JsonObject = isJsonObject(claim) ? claim : {}
  const given: readonly PrivateDataset[] = isJsonList(datasets)
    ? datasets.map((each) => readDataset(server, each))
    : [{ name: server, sensitivity: HIGHEST_SENSITIVITY }]
  const highest = given.reduce<Sensitivity>(
    (level, one) => higherSensitivity(level, one.sensitivity),
    isSensitivity(sensitivity) ? sensitivity : HIGHEST_SENSITIVITY,
  )
  const named = given.slice(0, MAX_NAMED)
  // The names are for people; the sensitivity is that of all of them.
  return named.some((one) => one.sensitivity === highest) ? named : [...named, { name: server, sensitivity: highest }]
}

function readDataset(server: string, given: Json): PrivateDataset {
  const { name, sensitivity }: JsonObject = isJsonObject(given) ? given : {}
  const shown = typeof name === 'string' && name !== '' ? cutText(toPlainText(name), MAX_NAME_CHARS) : 'unnamed'
  return { name: `${server}: ${shown}`, sensitivity: isSensitivity(sensitivity) ? sensitivity : HIGHEST_SENSITIVITY }
}
