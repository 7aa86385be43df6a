import { createRequire } from 'node:module'
import { messageOf, type TextPattern } from '@sallyport/core'
import type * as Re2 from 're2js'

const MAX_SOURCE_LENGTH = 1000
/** A step takes about ten nanoseconds, so a search takes at most about a quarter of a second. */
const MAX_STEPS = 25_000_000

let loaded: typeof Re2.RE2JS | undefined

/** Loaded on first use: most homes have no patterns, and loading it would slow down every start. */
function loadRe2(): typeof Re2.RE2JS {
  loaded ??= (createRequire(import.meta.url)('re2js') as typeof Re2).RE2JS
  return loaded
}

/** Compiles a regular expression in RE2's syntax. A search costs at most its size times the length of the text. */
export function compilePattern(source: string): TextPattern | { readonly problem: string } {
  if (source.length > MAX_SOURCE_LENGTH) return { problem: `it is longer than ${MAX_SOURCE_LENGTH} characters` }
  try {
    const compiled = loadRe2().compile(source)
    const longest = Math.floor(MAX_STEPS / Math.max(1, compiled.programSize()))
    return Object.assign((text: string) => compiled.test(text), { longest })
  } catch (error) {
    return { problem: messageOf(error).replace(/^error parsing regexp: /, '') }
  }
}
