import { ALLOW, type JsonObject, type Verdict } from '@sallyport/core'

/** The members of a request that determine what it does. */
const SIGNIFICANT_KEYS: readonly string[] = ['name', 'arguments', 'uri', 'ref', 'argument', 'taskId', '_meta']

/**
 * Refuses `Name` in place of `name`. The gateway checks `name`, but many servers would use `Name` (Go's JSON parser ignores
 * the case of keys and uses the last one), and so do something that was not checked.
 */
export function checkDuplicateKeys(params: JsonObject): Verdict {
  for (const key in params) {
    const meant = SIGNIFICANT_KEYS.includes(key) ? key : KEY_BY_FOLDED.get(folded(key))
    if (meant !== undefined && meant !== key) return refusal(key, meant)
  }
  return ALLOW
}

/** Also folds letters such as ſ, which is an s under Unicode case folding. */
const folded = (key: string): string => key.normalize('NFKC').toLowerCase()

const KEY_BY_FOLDED: ReadonlyMap<string, string> = new Map(SIGNIFICANT_KEYS.map((key) => [folded(key), key]))

const refusal = (key: string, meant: string): Verdict => ({
  outcome: 'deny',
  code: 'INVALID_PARAMS',
  reason: `The member "${meant}" must be spelled exactly like this; got ${JSON.stringify(key)}.`,
})
