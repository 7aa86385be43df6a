import { matchWildcards } from '../text/match-wildcards.ts'
import { isInside, joinPath, splitPath } from './posix-path.ts'

/** `**`: any number of names, including none. */
const ANY_DEPTH = '**'
/** `*` inside a name. */
const ANY_RUN = '*'

type Token = typeof ANY_RUN | ((char: string) => boolean)
type SegmentGlob = typeof ANY_DEPTH | readonly Token[]

/** A pattern without braces: the folder before the first wildcard, and the names that may follow. */
export interface PathGlob {
  readonly head: string
  readonly tail: readonly SegmentGlob[]
}

/** A pattern that cannot be used, and why. */
export interface PatternProblem {
  readonly problem: string
}

const MAX_PATTERN = 1024
const MAX_ALTERNATIVES = 256

/**
 * Parses an absolute pattern: `*` and `?` inside a name, `[a-z]` and `[!a-z]`, `**` across folders, `{a,b}`; `\`
 * escapes the next character. A pattern that ends in a plain name matches that path and, if it is a folder, everything
 * in it.
 */
export function readPathGlobs(pattern: string): readonly PathGlob[] | PatternProblem {
  if (pattern.length > MAX_PATTERN) return { problem: `it is longer than ${MAX_PATTERN} characters` }
  const plain = expandBraces(pattern, MAX_ALTERNATIVES)
  if (plain === undefined) return { problem: `a "{" without its "}", or over ${MAX_ALTERNATIVES} alternatives` }
  const globs: PathGlob[] = []
  for (const alternative of plain) {
    const glob = readPathGlob(alternative)
    if ('problem' in glob) return glob
    globs.push(glob)
  }
  return globs
}

function readPathGlob(pattern: string): PathGlob | PatternProblem {
  const head: string[] = []
  const tail: SegmentGlob[] = []
  let last: string | undefined
  for (const segment of splitPath(pattern)) {
    const plain = isPlain(segment)
    if (segment === '..' && tail.length > 0) return { problem: '".." after a wildcard is not supported' }
    if (segment === '..') head.pop()
    else if (plain && tail.length === 0) head.push(withoutEscapes(segment))
    else {
      const tokens = segment === ANY_DEPTH ? ANY_DEPTH : readSegment(segment)
      if (tokens === undefined) return { problem: 'a "[" without its "]"' }
      tail.push(tokens)
    }
    last = segment
  }
  if (tail.length === 0 || (last !== undefined && isPlain(last))) tail.push(ANY_DEPTH)
  return { head: joinPath(head), tail }
}

/** Escapes a text, so that the pattern matches exactly this text. */
export const escapeGlob = (text: string): string => text.replaceAll(/[*?[\]{},\\]/g, '\\$&')

const isPlain = (segment: string): boolean => !/[*?[]/.test(segment.replaceAll(/\\./gsu, ''))
const withoutEscapes = (segment: string): string => segment.replaceAll(/\\(.)/gsu, '$1')

function readSegment(segment: string): readonly Token[] | undefined {
  const tokens: Token[] = []
  const chars = Array.from(segment)
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]
    if (char === '*') {
      if (tokens.at(-1) !== ANY_RUN) tokens.push(ANY_RUN)
    } else if (char === '?') tokens.push(() => true)
    else if (char === '[') {
      // As in a shell, a "]" that comes first is a plain character.
      const end = chars.indexOf(']', at + (chars[at + 1] === '!' || chars[at + 1] === '^' ? 3 : 2))
      if (end < 0) return undefined
      tokens.push(readSet(chars.slice(at + 1, end)))
      at = end
    } else {
      const wanted = char === '\\' ? (chars[++at] ?? '\\') : char
      tokens.push((found) => found === wanted)
    }
  }
  return tokens
}

function readSet(chars: readonly string[]): (char: string) => boolean {
  const negated = chars[0] === '!' || chars[0] === '^'
  const ranges: (readonly [low: string, high: string])[] = []
  for (let at = negated ? 1 : 0; at < chars.length; at++) {
    const low = chars[at] ?? ''
    const isRange = chars[at + 1] === '-' && at + 2 < chars.length
    ranges.push([low, isRange ? (chars[at + 2] ?? low) : low])
    if (isRange) at += 2
  }
  const point = (char: string): number => char.codePointAt(0) ?? 0
  return (char) => ranges.some(([low, high]) => point(low) <= point(char) && point(char) <= point(high)) !== negated
}

/** Whether the pattern matches a canonical path. `head` replaces the pattern's own head. */
export function matchesGlob(glob: PathGlob, path: string, head: string): boolean {
  if (!isInside(path, head)) return false
  const rest = path.slice(head === '/' ? 1 : head.length + 1)
  return matchSegments(glob.tail, rest === '' ? [] : rest.split('/'))
}

const matchSegments = (items: readonly SegmentGlob[], names: readonly string[]): boolean =>
  matchWildcards(
    { items, wildcard: ANY_DEPTH, matches: (tokens, name) => matchName(tokens as readonly Token[], name) },
    names,
  )

const matchName = (items: readonly Token[], name: string): boolean =>
  matchWildcards(
    { items, wildcard: ANY_RUN, matches: (token, char) => (token as (char: string) => boolean)(char) },
    Array.from(name),
  )

/**
 * Expands `{a,b}`, also nested; `\` escapes the next character. `undefined` if a brace is not closed, or if there are
 * more than `max` results.
 */
export function expandBraces(text: string, max: number): readonly string[] | undefined {
  const open = indexOutsideEscapes(text, '{')
  if (open < 0) return [text]
  const parts = splitAlternatives(text, open + 1)
  if (parts === undefined || parts.choices.length > max) return undefined
  const before = text.slice(0, open)
  const after = expandBraces(text.slice(parts.end), max)
  if (after === undefined) return undefined
  const expanded: string[] = []
  for (const choice of parts.choices)
    for (const middle of expandBraces(choice, max) ?? [undefined]) {
      if (middle === undefined || expanded.length + after.length > max) return undefined
      for (const end of after) expanded.push(before + middle + end)
    }
  return expanded
}

function indexOutsideEscapes(text: string, wanted: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === wanted) return at
  }
  return -1
}

/** The alternatives in one pair of braces, and the position after it. */
function splitAlternatives(text: string, from: number): { choices: readonly string[]; end: number } | undefined {
  const choices: string[] = []
  let begin = from
  let depth = 1
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '{') depth++
    else if (char === ',' && depth === 1) {
      choices.push(text.slice(begin, at))
      begin = at + 1
    } else if (char === '}' && --depth === 0) {
      choices.push(text.slice(begin, at))
      return { choices, end: at + 1 }
    }
  }
  return undefined
}
