import type { RiskTokens } from './risk-tokens.ts'
import { tokenizeName } from './tokenize-name.ts'
import { progressive, thirdPerson } from './verb-forms.ts'

/** What the words of a name tell: one that changes something, one that only looks, or none. */
export interface NameRisk {
  readonly level: 'high' | 'low' | 'untold'
  /** The word that told it, of our lists or a form of one of them. */
  readonly word: string
}

const UNKNOWN_RISK: NameRisk = { level: 'untold', word: '' }
/** Behind these a word of doing is one more thing done, not a noun: `get_or_create`. */
const CONJUNCTIONS = ['and', 'or', 'then', 'plus']

type Word = 'verb' | 'noun' | 'form'

interface Lexicon {
  /** Words that change something; `form` is `deleting` or `deletes`. */
  readonly high: ReadonlyMap<string, Word>
  readonly low: ReadonlySet<string>
  readonly nouns: ReadonlySet<string>
}

/** Judged by words, never by parts of words (GOV-6). */
export function inferNameRisk(name: string, tokens: RiskTokens): NameRisk {
  const lexicon = compileLexicon(tokens)
  const words = tokenizeName(name)
  const telling = words.find((_, index) => isActionWord(words, index, lexicon))
  if (telling !== undefined) return { level: 'high', word: telling }
  const low = words.find((word) => lexicon.low.has(word))
  return low === undefined ? UNKNOWN_RISK : { level: 'low', word: low }
}

/** The word by which a choice (`run_workflow`) or a switch (`overwrite`) does something; nouns lead only. */
export function findActionWord(name: string, tokens: RiskTokens): string | undefined {
  const { high } = compileLexicon(tokens)
  return tokenizeName(name).find((word, index) => {
    const kind = high.get(word)
    return kind === 'verb' || (kind === 'noun' && index === 0)
  })
}

/** Whether a word at its place in a name means that something is done. */
function isActionWord(words: readonly string[], index: number, lexicon: Lexicon): boolean {
  const kind = lexicon.high.get(words[index] ?? '')
  if (kind === undefined || kind === 'verb') return kind === 'verb'
  const before = words.slice(0, index)
  // `list_deletes` and `get_running` name what is looked at, whatever is joined to it.
  if (kind === 'form') return !before.some((word) => lexicon.low.has(word))
  if (words.some((word) => CONJUNCTIONS.includes(word))) return true
  // `shopping_list_update`: a low word that may be a noun is a verb at the beginning only.
  return !before.some((word, at) => lexicon.low.has(word) && (at === 0 || !lexicon.nouns.has(word)))
}

/** Lists are compiled once: they are settings, and the same for every tool. */
const compiled = new WeakMap<RiskTokens, Lexicon>()

function compileLexicon(tokens: RiskTokens): Lexicon {
  const known = compiled.get(tokens)
  if (known !== undefined) return known
  const nouns = new Set(tokens.nouns)
  const high = new Map<string, Word>()
  for (const verb of tokens.high) {
    // Forms of a noun tell nothing: `runs` and `replies` are more of them, `settings` and `running` are other words.
    if (nouns.has(verb)) continue
    for (const form of [thirdPerson(verb), progressive(verb)]) high.set(form, 'form')
  }
  for (const verb of tokens.high) high.set(verb, nouns.has(verb) ? 'noun' : 'verb')
  const lexicon = { high, low: new Set(tokens.low), nouns }
  compiled.set(tokens, lexicon)
  return lexicon
}
