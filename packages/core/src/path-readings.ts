import { expandBraces } from './expand-braces.ts'
import { expandReferences } from './path-references.ts'
import { climbs } from './path-text.ts'
import type { PathWorld } from './path-world.ts'

/** Every absolute path that a server may take a value for, or why that cannot be told. */
export type PathReadings = { readonly paths: readonly string[] } | { readonly problem: string }

/** The longest path that Linux opens. */
const MAX_LENGTH = 4096
const MAX_SPELLINGS = 16
const MAX_BRACES = 16

const CONTROL = /\p{Cc}/u
const SURROGATE = /\p{Surrogate}/u
const FILE_URI = /^\s*file:/i
/** `jar:file:///x`, `url:file:///x`: what reads these opens the file within. */
const WRAPPED_FILE_URI = /^\s*(?:[a-z][a-z0-9+.-]*:)+file:/i
const WEB_URL = /^https?:\/\//i
const DRIVE = /^[a-z]:/i
const UNC = /^(?:\\[\\/]|\/\\)/

/** Whether a value says by itself that it is a path, wherever it stands. */
export const isFileUri = (value: string): boolean => FILE_URI.test(value) || WRAPPED_FILE_URI.test(value)

/**
 * Servers differ in what they make of a value: some decode `%2e`, some trim, some take a backslash for a slash, some fold
 * full-width characters. A value is judged by all that any of them might open; a web address holds no path.
 */
export function readPathValue(value: string, world: PathWorld): PathReadings {
  if (value.length > MAX_LENGTH) return { problem: `it is longer than ${MAX_LENGTH} characters` }
  const spellings = new Set([value])
  const paths = new Set<string>()
  for (const text of spellings) {
    const reading = readSpelling(text, world)
    if ('problem' in reading) return reading
    for (const path of reading.paths) paths.add(path)
    const others = respell(text)
    if (others === undefined) return { problem: 'its percent-encoding is broken' }
    for (const other of others) spellings.add(other)
    if (spellings.size > MAX_SPELLINGS) return { problem: 'it can be read in too many ways' }
  }
  return { paths: [...paths] }
}

/** What lenient servers may turn a text into. Undefined where it holds bytes that are no UTF-8, such as an overlong dot. */
function respell(text: string): readonly string[] | undefined {
  const decoded = decodePercent(text)
  if (decoded === undefined) return undefined
  const others = [decoded, text.trim(), text.replaceAll('\\', '/'), text.normalize('NFKC')]
  if (FILE_URI.test(text)) others.push(text.replace(/[?#].*$/s, ''))
  if (text.includes('{')) others.push(...(expandBraces(text, MAX_BRACES) ?? []))
  return others
}

function decodePercent(text: string): string | undefined {
  try {
    return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => decodeURIComponent(run))
  } catch {
    return undefined
  }
}

function readSpelling(text: string, world: PathWorld): PathReadings {
  const problem = unreadable(text)
  if (problem !== undefined) return { problem }
  if (WEB_URL.test(text)) return climbs(text) ? readPlain(text, world) : { paths: [] }
  if (FILE_URI.test(text)) return readFileUri(text, world)
  return readExpanded(text, world)
}

function unreadable(text: string): string | undefined {
  if (CONTROL.test(text)) return 'it has a control character in it'
  if (SURROGATE.test(text)) return 'it is not well-formed Unicode'
  if (DRIVE.test(text)) return 'it names a Windows drive'
  if (UNC.test(text)) return 'it names a Windows host'
  if (WRAPPED_FILE_URI.test(text)) return 'it has a file URI within another'
  return undefined
}

function readFileUri(text: string, world: PathWorld): PathReadings {
  const rest = text.replace(FILE_URI, '')
  const match = /^(?:\/\/(?:localhost)?)?(\/(?!\/).*)$/is.exec(rest.replaceAll('\\', '/'))
  if (match?.[1] === undefined) return { problem: 'its URI names a host or no absolute path; expected file:///…' }
  if (/^\/[a-z][:|]/i.test(match[1])) return { problem: 'it names a Windows drive' }
  return withLiteral([match[1]], text, world)
}

/** With `~` and `$NAME` as a shell would read them. */
function readExpanded(text: string, world: PathWorld): PathReadings {
  const references = expandReferences(text, world.environment)
  if ('problem' in references) return references
  const paths: string[] = []
  for (const expanded of references.texts) {
    const reading = expanded.startsWith('~') ? readHome(expanded, world) : readPlain(expanded, world)
    if ('problem' in reading) return reading
    paths.push(...reading.paths)
  }
  const isPrefix = text.startsWith('~') || (references.used && text.startsWith('$'))
  return isPrefix ? withLiteral(paths, text, world) : merged(paths, readPlain(text, world))
}

function readHome(text: string, { userHome }: PathWorld): PathReadings {
  if (!/^~(?:[\\/]|$)/.test(text)) return { problem: 'it names the home folder of another user' }
  if (userHome === undefined) return { problem: 'the home folder of the server is not known' }
  return { paths: [userHome + text.slice(1)] }
}

function readPlain(text: string, { cwd }: PathWorld): PathReadings {
  if (text.startsWith('/')) return { paths: [text] }
  if (cwd === undefined) return { problem: 'it is relative, and the working folder of the server is not known' }
  return { paths: [`${cwd}/${text}`] }
}

/**
 * A server that knows nothing of `~` or `file:` looks for a folder of that name in its working folder. That there is one
 * is not assumed, but with `..` behind it the way would lead out of that folder all the same.
 */
const withLiteral = (paths: readonly string[], text: string, world: PathWorld): PathReadings =>
  climbs(text) ? merged(paths, readPlain(text, world)) : { paths }

const merged = (paths: readonly string[], other: PathReadings): PathReadings =>
  'problem' in other ? other : { paths: [...paths, ...other.paths] }
