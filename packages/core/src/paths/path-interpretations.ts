// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the messages show the grammar of references.

import type { PathContext } from './path-context.ts'
import { expandBraces } from './path-glob.ts'
import { hasParentSegment, normalizePath } from './posix-path.ts'

/** Every absolute path that a server may take a value for, or why that cannot be told. */
export type PathInterpretations =
  | {
      readonly paths: readonly string[]
      /** Those of them that the value names from the root. */
      readonly absolute: readonly string[]
    }
  | { readonly problem: string }

/** What one call adds to the surroundings of its server. */
export interface CallRoots {
  /** The URIs of the roots that the client gave to the server, which may read relative paths from there. */
  readonly roots: readonly string[]
}

export const NO_ROOTS: CallRoots = Object.freeze({ roots: [] })

/** The longest path that Linux opens. */
const MAX_LENGTH = 4096
const MAX_SPELLINGS = 24
const MAX_BRACES = 16
const MAX_BASES = 64

/** What nobody reads in two ways. */
const PLAIN = /^[A-Za-z0-9_./-]*$/
const CONTROL = /\p{Cc}/u
const SURROGATE = /\p{Surrogate}/u
const FILE_URI = /^\s*file:/i
/** `jar:file:///x`, `url:file:///x`: what reads these opens the file within. */
const WRAPPED_FILE_URI = /^\s*(?:[a-z][a-z0-9+.-]*:)+file:/i
const WEB_URL = /^https?:\/\//i
const DRIVE = /^[a-z]:/i
/** Around a value, where a model wrote a word of a shell. */
const QUOTES = /^["']|["']$/g
const UNC = /^(?:\\[\\/]|\/\\)/

/** Whether a value says by itself that it is a path, wherever it stands. */
export const isFileUri = (value: string): boolean => FILE_URI.test(value) || WRAPPED_FILE_URI.test(value)

/**
 * Servers differ in what they make of a value: some decode `%2e`, some trim, some take off quotes, some take a backslash
 * for a slash, some expand `~` and `$NAME`, in any order. A value is judged by all that any of them might open; a web address holds no path. A
 * relative one is read from every folder that the server may start from.
 */
export function interpretPath(value: string, world: PathContext, callBases: CallRoots): PathInterpretations {
  const spellings = new Set([value])
  const absolute = new Set<string>()
  const relative = new Set<string>()
  for (const text of spellings) {
    const problem = findUnreadable(text)
    if (problem !== undefined) return { problem }
    const others = listRespellings(text, world)
    if ('problem' in others) return others
    for (const other of others.texts) spellings.add(other)
    if (spellings.size > MAX_SPELLINGS) return { problem: 'it can be read in too many ways' }
    if (isPath(text)) (text.startsWith('/') ? absolute : relative).add(text)
  }
  if (relative.size === 0) return { paths: [...absolute], absolute: [...absolute] }
  const bases = findBaseFolders(world, callBases)
  if ('problem' in bases) return bases
  const paths = bases.paths.flatMap((base) => [...relative].map((text) => `${base}/${text}`))
  return { paths: [...absolute, ...paths], absolute: [...absolute] }
}

/** Every folder from which the server may read a relative path. */
export function findBaseFolders(world: PathContext, { roots }: CallRoots): BaseFolders {
  const { cwd } = world
  if (cwd === undefined)
    return { problem: 'it is relative, and the working folder of the server is not known; use an absolute path' }
  const paths = new Set([cwd, ...world.listBaseFolders()])
  for (const root of roots) {
    const readings = interpretPath(root, world, NO_ROOTS)
    if ('problem' in readings)
      return { problem: 'it is relative, and a root of the client cannot be judged; use an absolute path' }
    for (const path of readings.paths) paths.add(path)
  }
  if (paths.size > MAX_BASES) return { problem: 'it is relative to too many folders; use an absolute path' }
  return { paths: [...paths] }
}

type BaseFolders = { readonly paths: readonly string[] } | { readonly problem: string }

/**
 * A server that knows nothing of `~` or `file:` looks for a folder of that name in its working folder. That there is one
 * is not assumed, but with `..` behind it the way would lead out of that folder all the same.
 */
const isPath = (text: string): boolean =>
  hasParentSegment(text) || !(isUri(text) || text.startsWith('~') || beginsWithReference(text))

const isUri = (text: string): boolean => WEB_URL.test(text) || FILE_URI.test(text)

function findUnreadable(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`
  if (CONTROL.test(text)) return 'it has a control character in it'
  if (SURROGATE.test(text)) return 'it is not well-formed Unicode'
  if (DRIVE.test(text)) return 'it names a Windows drive'
  if (UNC.test(text)) return 'it names a Windows host'
  if (WRAPPED_FILE_URI.test(text)) return 'it has a file URI within another'
  return undefined
}

/** What a server may turn a text into. */
function listRespellings(text: string, world: PathContext): Respellings {
  if (PLAIN.test(text)) return { texts: [] }
  const decoded = decodePercent(text)
  // Overlong dots are among them.
  if (decoded === undefined) return { problem: 'its percent-encoding is no UTF-8' }
  const texts = [decoded, text.trim(), text.replaceAll('\\', '/'), text.normalize('NFKC'), text.replaceAll(QUOTES, '')]
  // With its slashes made one, a URI is another.
  if (!isUri(text) || hasParentSegment(text)) texts.push(normalizePath(text))
  return mergeRespellings(texts, [
    readBraces(text),
    expandReferences(text, world.environment),
    readFileUri(text),
    readHome(text, world),
  ])
}

function mergeRespellings(texts: readonly string[], others: readonly Respellings[]): Respellings {
  const all = [...texts]
  for (const other of others) {
    if ('problem' in other) return other
    all.push(...other.texts)
  }
  return { texts: all }
}

/** A shell expands what it can, also beside a brace that is left open. */
function readBraces(text: string): Respellings {
  const texts = expandBraces(text, MAX_BRACES)
  if (texts !== undefined) return { texts }
  return text.includes(',') ? { problem: 'its braces stand for too much, or one is left open' } : { texts: [] }
}

function decodePercent(text: string): string | undefined {
  try {
    return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => decodeURIComponent(run))
  } catch {
    return undefined
  }
}

function readFileUri(text: string): Respellings {
  if (!FILE_URI.test(text)) return { texts: [] }
  const path = /^(?:\/\/(?:localhost)?)?(\/(?!\/).*)/is.exec(text.replace(FILE_URI, ''))?.[1]
  if (path === undefined) return { problem: 'its URI names a host or no absolute path; expected file:///…' }
  if (/^\/[a-z][:|]/i.test(path)) return { problem: 'it names a Windows drive' }
  return { texts: [path, path.replace(/[?#].*/s, '')] }
}

function readHome(text: string, { userHome }: PathContext): Respellings {
  if (!text.startsWith('~')) return { texts: [] }
  if (!/^~(?:[\\/]|$)/.test(text)) return { problem: 'it names the home folder of another user' }
  if (userHome === undefined) return { problem: 'the home folder of the server is not known' }
  return { texts: [userHome + text.slice(1)] }
}

/** `$NAME`, `${…}`, and what a shell takes for a parameter of its own: `$1`, `$@`. */
const REFERENCE = /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([^}]*)\}|([0-9@*#?!$-]))/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** How variables are named everywhere; `$id.tsx` is the name of a file. */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/
const BEGINS = /^\$(?:[A-Z_]|\{[A-Z_])/
const COMMAND = /\$\(|`/

type Lookup = (name: string) => string | undefined

/** What a text may become, or why that cannot be told. */
type Respellings = { readonly texts: readonly string[] } | { readonly problem: string }

/** Whether it begins with what is surely meant as a variable. */
const beginsWithReference = (text: string): boolean => BEGINS.test(text)

/**
 * The caller's value is not a template of ours, but the server may hand it to a shell. What it would hold there is judged;
 * a reference that looks like none (`$id`) may stay as it is or vanish, so both are.
 */
function expandReferences(text: string, lookup: Lookup): Respellings {
  if (COMMAND.test(text)) return { problem: 'it has a command for a shell in it' }
  if (!text.includes('$')) return { texts: [] }
  const names = [...text.matchAll(REFERENCE)].map(readReferenceName)
  for (const name of names) {
    if (name === undefined) return { problem: 'it has a "${…}" in it that is more than the name of a variable' }
    if (lookup(name) === undefined && VARIABLE.test(name)) return { problem: `the variable ${name} is not known` }
  }
  return {
    texts: [replaced(text, (name) => lookup(name) ?? ''), replaced(text, (name, whole) => lookup(name) ?? whole)],
  }
}

const replaced = (text: string, value: (name: string, whole: string) => string): string =>
  text.replaceAll(REFERENCE, (...match: readonly unknown[]) =>
    value(readReferenceName(match as readonly (string | undefined)[]) ?? '', match[0] as string),
  )

/** What a reference names; undefined where it is one of the forms that compute something. */
function readReferenceName([, plain, braced, special]: readonly (string | undefined)[]): string | undefined {
  if (braced !== undefined) return NAME.test(braced) ? braced : undefined
  return plain ?? special
}
