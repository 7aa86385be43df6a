import { messageOf, type TextPattern } from '@sallyport/core'
import { RE2JS } from 're2js'

const LONGEST_SOURCE = 1000
/** A step takes about ten nanoseconds, so that no search takes much over a quarter of a second. */
const MOST_STEPS = 25_000_000

/** Compiles a regular expression in RE2's syntax. A search costs at most its size times the length of the text. */
export function compilePattern(source: string): TextPattern | { readonly problem: string } {
  if (source.length > LONGEST_SOURCE) return { problem: `it is longer than ${LONGEST_SOURCE} characters` }
  try {
    const compiled = RE2JS.compile(source)
    const longest = Math.floor(MOST_STEPS / Math.max(1, compiled.programSize()))
    return Object.assign((text: string) => compiled.test(text), { longest })
  } catch (error) {
    return { problem: messageOf(error).replace(/^error parsing regexp: /, '') }
  }
}
