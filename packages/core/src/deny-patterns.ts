import { quoteText } from './excerpt.ts'
import { isDeeperThan, type Json, type JsonObject } from './json/json.ts'
import type { CompilePattern, TextPattern } from './text-pattern.ts'

const MAX_SHOWN_LENGTH = 60
const MAX_DEPTH = 128

/**
 * Tells whether one of the patterns is found in the arguments: in their JSON text, in each text by itself (where nothing
 * is escaped), and in the texts of a list in a row, as a command line would have them. Undefined without patterns.
 */
export function compileDenyPatterns(
  sources: readonly string[],
  compile: CompilePattern,
): ((args: JsonObject) => string | undefined) | undefined {
  if (sources.length === 0) return undefined
  const patterns: { readonly shown: string; readonly pattern: TextPattern }[] = []
  for (const source of sources) {
    const shown = quoteText(source, MAX_SHOWN_LENGTH)
    const pattern = compile(source)
    // What it would deny cannot be told, so it may be anything.
    if (typeof pattern !== 'function') return () => `cannot be judged: deny_patterns has ${shown}: ${pattern.problem}`
    patterns.push({ shown, pattern })
  }
  return (args) => {
    if (isDeeperThan(args, MAX_DEPTH))
      return `are nested over ${MAX_DEPTH} levels deep and cannot be judged by deny_patterns`
    const json = JSON.stringify(args)
    const long = patterns.find(({ pattern }) => json.length > pattern.longest)
    if (long !== undefined) return `are too long to be judged by ${long.shown} of deny_patterns`
    const texts = [json, ...collectStrings(args)]
    const hit = patterns.find(({ pattern }) => texts.some(pattern))
    return hit && `hold what ${hit.shown} of deny_patterns refuses`
  }
}

/** Every text within, and those of each list once more as one. Keys are in the JSON text. */
function collectStrings(args: Json): readonly string[] {
  const found: string[] = []
  const pending: (Json | undefined)[] = [args]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value === 'string') found.push(value)
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) found.push(joined(value))
    for (const member of Object.values(value)) pending.push(member)
  }
  return found
}

const joined = (items: readonly Json[]): string => items.filter((item) => typeof item !== 'object').join(' ')
