import { quoteText } from './excerpt.ts'
import { isDeeper, type Json, type JsonObject } from './json/json.ts'
import type { CompilePattern, TextPattern } from './text-pattern.ts'

const SHOWN = 60
const DEEPEST = 128

/**
 * Tells whether one of the patterns is found in the arguments: in their JSON text, in each text by itself (where nothing
 * is escaped), and in the texts of a list in a row, as a command line would have them. Undefined without patterns.
 */
export function denyingFlaw(
  sources: readonly string[],
  compile: CompilePattern,
): ((args: JsonObject) => string | undefined) | undefined {
  if (sources.length === 0) return undefined
  const patterns: { readonly shown: string; readonly pattern: TextPattern }[] = []
  for (const source of sources) {
    const shown = quoteText(source, SHOWN)
    const pattern = compile(source)
    // What it would deny cannot be told, so it may be anything.
    if (typeof pattern !== 'function') return () => `cannot be judged: deny_patterns has ${shown}: ${pattern.problem}`
    patterns.push({ shown, pattern })
  }
  return (args) => {
    if (isDeeper(args, DEEPEST)) return `are nested over ${DEEPEST} levels deep and cannot be judged by deny_patterns`
    const json = JSON.stringify(args)
    const long = patterns.find(({ pattern }) => json.length > pattern.longest)
    if (long !== undefined) return `are too long to be judged by ${long.shown} of deny_patterns`
    const texts = [json, ...textsOf(args)]
    const hit = patterns.find(({ pattern }) => texts.some(pattern))
    return hit && `hold what ${hit.shown} of deny_patterns refuses`
  }
}

/** Every text within, and those of each list once more as one. Keys are in the JSON text. */
function textsOf(args: Json): readonly string[] {
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
