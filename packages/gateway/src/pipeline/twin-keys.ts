import { ALLOW, type JsonObject, type Step, type Verdict } from '@sallyport/core'

/** The members of a request that say what it is about. */
const TELLING: ReadonlySet<string> = new Set(['name', 'arguments', 'uri', 'ref', 'argument', '_meta'])

/**
 * Refuses `Name` beside `name`. What is judged is the one, but many servers (Go's JSON reads keys without regard to
 * case, and the last one counts) would take the other: they would do something that nobody judged.
 */
export const twinKeys: Step<{ readonly params: JsonObject }> = {
  name: 'validate',
  judge: ({ params }) => {
    for (const key in params) if (!TELLING.has(key) && TELLING.has(folded(key))) return refusal(key)
    return ALLOW
  },
}

/** Also of letters that only look different to us: ſ is an s to whoever folds case as Unicode does. */
const folded = (key: string): string => key.normalize('NFKC').toLowerCase()

const refusal = (key: string): Verdict => ({
  outcome: 'deny',
  code: 'INVALID_PARAMS',
  reason: `The member "${folded(key)}" is spelled in small letters; got ${JSON.stringify(key)}.`,
})
