import { ALLOW, type JsonObject, type Verdict } from '@sallyport/core'

/** The members of a request that say what it is about. */
const SIGNIFICANT_KEYS: readonly string[] = ['name', 'arguments', 'uri', 'ref', 'argument', 'taskId', '_meta']

/**
 * Refuses `Name` beside `name`. What is judged is the one, but many servers (Go's JSON reads keys without regard to
 * case, and the last one counts) would take the other: they would do something that nobody judged.
 */
export function checkDuplicateKeys(params: JsonObject): Verdict {
  for (const key in params) {
    const meant = SIGNIFICANT_KEYS.includes(key) ? key : KEY_BY_FOLDED.get(folded(key))
    if (meant !== undefined && meant !== key) return refusal(key, meant)
  }
  return ALLOW
}

/** Also of letters that only look different to us: ſ is an s to whoever folds case as Unicode does. */
const folded = (key: string): string => key.normalize('NFKC').toLowerCase()

const KEY_BY_FOLDED: ReadonlyMap<string, string> = new Map(SIGNIFICANT_KEYS.map((key) => [folded(key), key]))

const refusal = (key: string, meant: string): Verdict => ({
  outcome: 'deny',
  code: 'INVALID_PARAMS',
  reason: `The member "${meant}" is spelled in this way and no other; got ${JSON.stringify(key)}.`,
})
