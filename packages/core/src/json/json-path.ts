import { quoteText } from '../text/excerpt.ts'
import { didYouMean } from '../text/find-closest.ts'
import type { Span } from './envelope.ts'
import { isListAt, isObjectAt, MemberCursor, readString, skipSpace } from './json-walk.ts'

/** The position of a value, or why there is none. */
export type FoundValue = Span | { readonly problem: string }

const MAX_PATH_DEPTH = 100
const MAX_NAMES = 200

/** Reads `/items/0/name` (RFC 6901), or `$.items[0].name`, `items[0]["a key"]`. `undefined` if it is neither. */
export function readJsonPath(path: string): readonly string[] | undefined {
  if (path === '' || path === '$') return []
  const steps = path.startsWith('/') ? readPointer(path) : readDotted(path)
  return steps === undefined || steps.length > MAX_PATH_DEPTH ? undefined : steps
}

/** The steps of a non-empty JSON pointer. A tilde that escapes nothing is a plain tilde. */
export const readPointer = (pointer: string): readonly string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

export const formatPointer = (steps: readonly string[]): string =>
  steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const DOTTED_STEP = /\.?([^.[\]"]{1,1000})|\[(\d{1,15})\]|\[("(?:[^"\\]|\\.){0,1000}")\]/y

function readDotted(path: string): readonly string[] | undefined {
  const steps: string[] = []
  DOTTED_STEP.lastIndex = path.startsWith('$') ? 1 : 0
  while (DOTTED_STEP.lastIndex < path.length) {
    const [, name, index, quoted] = DOTTED_STEP.exec(path) ?? []
    const step = name ?? index ?? unquoted(quoted)
    if (step === undefined) return undefined
    steps.push(step)
  }
  return steps
}

function unquoted(quoted: string | undefined): string | undefined {
  try {
    return quoted === undefined ? undefined : (JSON.parse(quoted) as string)
  } catch {
    return undefined
  }
}

/** The span of the whole value. */
export const rootSpan = (text: string): Span => ({ start: skipSpace(text, 0), end: text.trimEnd().length })

/** Finds the value at a path. The text must be valid JSON; only the parts on the path are read. */
export function findJsonValue(text: string, steps: readonly string[]): FoundValue {
  let found = rootSpan(text)
  for (const step of steps) {
    const next = stepInto(text, found.start, step)
    if ('problem' in next) return next
    found = next
  }
  return found
}

function stepInto(text: string, container: number, step: string): FoundValue {
  if (isObjectAt(text, container)) return findKey(text, container, step)
  if (isListAt(text, container)) return findItem(text, container, step)
  return {
    problem: `The path continues with ${quoteText(step, 60)}, but the value there is neither an object nor an array.`,
  }
}

function findKey(text: string, container: number, wanted: string): FoundValue {
  const names: string[] = []
  let found: Span | undefined
  for (const members = new MemberCursor(text, container); members.next(); ) {
    const name = readKey(text, members, wanted.length)
    // As in every parser, the last of two members with the same key wins.
    if (name === wanted) found = { start: members.start, end: members.end }
    if (names.length < MAX_NAMES && name !== undefined) names.push(name)
  }
  const some = names.slice(0, 10).map((name) => quoteText(name, 40))
  return (
    found ?? {
      problem: `There is no key ${quoteText(wanted, 60)}.${didYouMean(wanted, names)} There are: ${some.join(', ')}.`,
    }
  )
}

/** `undefined` for keys that are too long to be the wanted one: each character takes at most six places in JSON. */
function readKey(text: string, { key, keyEnd }: MemberCursor, wanted: number): string | undefined {
  if (keyEnd - key - 2 > Math.max(wanted, 40) * 6) return undefined
  return readString(text, { start: key, end: keyEnd })
}

function findItem(text: string, container: number, step: string): FoundValue {
  const wanted = readIndex(step)
  const items = new MemberCursor(text, container)
  let count = 0
  for (; items.next(); count++) if (count === wanted) return { start: items.start, end: items.end }
  return { problem: `There is no item ${quoteText(step, 60)}: the array has ${count} items, numbered from 0.` }
}

const readIndex = (step: string): number => (/^(?:0|[1-9]\d{0,14})$/.test(step) ? Number(step) : -1)
