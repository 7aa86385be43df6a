import type { RiskTokens } from './risk-tokens.ts'
import { tokenizeName } from './tokenize-name.ts'
import { progressive, thirdPerson } from './verb-forms.ts'

/** The risk by the words of a name: `high` for a word that changes something, `low` for one that only reads. */
export interface NameRisk {
  readonly level: 'high' | 'low' | 'unknown'
  /** The deciding word: one of our lists, or a form of it. */
  readonly word: string
}

const UNKNOWN_RISK: NameRisk = { level: 'unknown', word: '' }
/** After these an action word is a verb, not a noun: `get_or_create`. */
const CONJUNCTIONS = ['and', 'or', 'then', 'plus']

type Word = 'verb' | 'noun' | 'form'

interface Lexicon {
  /** Words that change something. A `form` is `deleting` or `deletes`. */
  readonly high: ReadonlyMap<string, Word>
  readonly low: ReadonlySet<string>
  readonly nouns: ReadonlySet<string>
}

/** Infers the risk from whole words, never from parts of words (GOV-6). */
export function inferNameRisk(name: string, tokens: RiskTokens): NameRisk {
  const lexicon = compileLexicon(tokens)
  const words = tokenizeName(name)
  const action = words.find((_, index) => isActionWord(words, index, lexicon))
  if (action !== undefined) return { level: 'high', word: action }
  const low = words.find((word) => lexicon.low.has(word))
  return low === undefined ? UNKNOWN_RISK : { level: 'low', word: low }
}

/**
 * The action word of a choice (`run_workflow`) or a flag (`overwrite`). Words that may be nouns count only in front.
 */
export function findActionWord(name: string, tokens: RiskTokens): string | undefined {
  const { high } = compileLexicon(tokens)
  return tokenizeName(name).find((word, index) => {
    const kind = high.get(word)
    return kind === 'verb' || (kind === 'noun' && index === 0)
  })
}

/** Whether the word at this position of a name is an action. */
function isActionWord(words: readonly string[], index: number, lexicon: Lexicon): boolean {
  const kind = lexicon.high.get(words[index] ?? '')
  if (kind === undefined || kind === 'verb') return kind === 'verb'
  const before = words.slice(0, index)
  // `list_deletes` and `get_running` name what is read.
  if (kind === 'form') return !before.some((word) => lexicon.low.has(word))
  if (words.some((word) => CONJUNCTIONS.includes(word))) return true
  // `shopping_list_update`: a low word that may be a noun is a verb only at the beginning.
  return !before.some((word, at) => lexicon.low.has(word) && (at === 0 || !lexicon.nouns.has(word)))
}

/** A cache: the lists are settings and the same for every tool. */
const compiled = new WeakMap<RiskTokens, Lexicon>()

function compileLexicon(tokens: RiskTokens): Lexicon {
  const known = compiled.get(tokens)
  if (known !== undefined) return known
  const nouns = new Set(tokens.nouns)
  const high = new Map<string, Word>()
  for (const verb of tokens.high) {
    // Forms of a noun are ignored: `runs` and `replies` are plurals, `settings` and `running` are other words.
    if (nouns.has(verb)) continue
    for (const form of [thirdPerson(verb), progressive(verb)]) high.set(form, 'form')
  }
  for (const verb of tokens.high) high.set(verb, nouns.has(verb) ? 'noun' : 'verb')
  const lexicon = { high, low: new Set(tokens.low), nouns }
  compiled.set(tokens, lexicon)
  return lexicon
}
