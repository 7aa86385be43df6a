// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the messages show the grammar of references.

import type { PathContext } from './path-context.ts'
import { expandBraces } from './path-glob.ts'
import { hasParentSegment, normalizePath } from './posix-path.ts'

/** Every absolute path that a server may open for a value, or why this is unknown. */
export type PathInterpretations =
  | {
      readonly paths: readonly string[]
      /** Those of them that the value itself names as an absolute path. */
      readonly absolute: readonly string[]
    }
  | { readonly problem: string }

/** What one call adds to the path context of its server. */
export interface CallRoots {
  /** The URIs of the client's roots: the server may resolve relative paths against them. */
  readonly roots: readonly string[]
}

export const NO_ROOTS: CallRoots = Object.freeze({ roots: [] })

/** The longest path that Linux opens. */
const MAX_LENGTH = 4096
const MAX_SPELLINGS = 24
const MAX_BRACES = 16
const MAX_BASES = 64

/** Values with a single interpretation. */
const PLAIN = /^[A-Za-z0-9_./-]*$/
const CONTROL = /\p{Cc}/u
const SURROGATE = /\p{Surrogate}/u
const FILE_URI = /^\s*file:/i
/** `jar:file:///x`, `url:file:///x`: their readers open the inner file. */
const WRAPPED_FILE_URI = /^\s*(?:[a-z][a-z0-9+.-]*:)+file:/i
const WEB_URL = /^https?:\/\//i
const DRIVE = /^[a-z]:/i
/** A model may quote a value as for a shell. */
const QUOTES = /^["']|["']$/g
const UNC = /^(?:\\[\\/]|\/\\)/

/** Whether a value is clearly a path, whatever its argument is called. */
export const isFileUri = (value: string): boolean => FILE_URI.test(value) || WRAPPED_FILE_URI.test(value)

/**
 * Servers interpret a value in different ways: some decode `%2e`, trim, remove quotes, treat a backslash as a slash, or
 * expand `~` and `$NAME`, in any order. This returns everything that any of them might open. A relative path is
 * resolved against every folder that the server may use. A web URL contains no path.
 */
export function interpretPath(value: string, context: PathContext, callRoots: CallRoots): PathInterpretations {
  const spellings = new Set([value])
  const absolute = new Set<string>()
  const relative = new Set<string>()
  for (const text of spellings) {
    const problem = findUnreadable(text)
    if (problem !== undefined) return { problem }
    const others = listRespellings(text, context)
    if ('problem' in others) return others
    for (const other of others.texts) spellings.add(other)
    if (spellings.size > MAX_SPELLINGS) return { problem: 'it can be read in too many ways' }
    if (isPath(text)) (text.startsWith('/') ? absolute : relative).add(text)
  }
  if (relative.size === 0) return { paths: [...absolute], absolute: [...absolute] }
  const bases = findBaseFolders(context, callRoots)
  if ('problem' in bases) return bases
  const paths = bases.paths.flatMap((base) => [...relative].map((text) => `${base}/${text}`))
  return { paths: [...absolute, ...paths], absolute: [...absolute] }
}

/** Every folder that a relative path may refer to. */
export function findBaseFolders(context: PathContext, { roots }: CallRoots): BaseFolders {
  const { cwd } = context
  if (cwd === undefined)
    return { problem: 'it is relative, and the working folder of the server is not known; use an absolute path' }
  const paths = new Set([cwd, ...context.listBaseFolders()])
  for (const root of roots) {
    const rootPaths = interpretPath(root, context, NO_ROOTS)
    if ('problem' in rootPaths)
      return { problem: 'it is relative, and a root of the client cannot be resolved; use an absolute path' }
    for (const path of rootPaths.paths) paths.add(path)
  }
  if (paths.size > MAX_BASES) return { problem: 'it is relative to too many folders; use an absolute path' }
  return { paths: [...paths] }
}

type BaseFolders = { readonly paths: readonly string[] } | { readonly problem: string }

/**
 * A server that does not know `~` or `file:` looks for a folder of that name in its working folder. We assume that
 * there is none. But with `..` after it the path leads out of the working folder anyway.
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
  if (WRAPPED_FILE_URI.test(text)) return 'it has a file URI inside another URI'
  return undefined
}

/** The texts that a server may turn a text into. */
function listRespellings(text: string, context: PathContext): Respellings {
  if (PLAIN.test(text)) return { texts: [] }
  const decoded = decodePercent(text)
  // This includes overlong encodings of dots.
  if (decoded === undefined) return { problem: 'its percent-encoding is not valid UTF-8' }
  const texts = [decoded, text.trim(), text.replaceAll('\\', '/'), text.normalize('NFKC'), text.replaceAll(QUOTES, '')]
  // Merging the slashes of a URI would change its meaning.
  if (!isUri(text) || hasParentSegment(text)) texts.push(normalizePath(text))
  return mergeRespellings(texts, [
    readBraces(text),
    expandReferences(text, context.environment),
    readFileUri(text),
    readHome(text, context),
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

/** A shell expands what it can, even if another brace is not closed. */
function readBraces(text: string): Respellings {
  const texts = expandBraces(text, MAX_BRACES)
  if (texts !== undefined) return { texts }
  return text.includes(',') ? { problem: 'its braces have too many alternatives, or one is not closed' } : { texts: [] }
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
  if (path === undefined) return { problem: 'its URI names a host, or its path is not absolute; expected file:///…' }
  if (/^\/[a-z][:|]/i.test(path)) return { problem: 'it names a Windows drive' }
  return { texts: [path, path.replace(/[?#].*/s, '')] }
}

function readHome(text: string, { userHome }: PathContext): Respellings {
  if (!text.startsWith('~')) return { texts: [] }
  if (!/^~(?:[\\/]|$)/.test(text)) return { problem: 'it names the home folder of another user' }
  if (userHome === undefined) return { problem: 'the home folder of the server is not known' }
  return { texts: [userHome + text.slice(1)] }
}

/** `$NAME`, `${…}`, and the special parameters of a shell: `$1`, `$@`. */
const REFERENCE = /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([^}]*)\}|([0-9@*#?!$-]))/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The usual form of variable names; `$id.tsx` is the name of a file. */
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/
const BEGINS = /^\$(?:[A-Z_]|\{[A-Z_])/
const COMMAND = /\$\(|`/

type Lookup = (name: string) => string | undefined

/** What a text may become, or why this is unknown. */
type Respellings = { readonly texts: readonly string[] } | { readonly problem: string }

/** Whether it begins with a clear reference to a variable. */
const beginsWithReference = (text: string): boolean => BEGINS.test(text)

/**
 * We do not expand the caller's value ourselves, but the server may pass it to a shell. So the expanded value is
 * checked too. A doubtful reference (`$id`) may stay unchanged or become empty, so both results are returned.
 */
function expandReferences(text: string, lookup: Lookup): Respellings {
  if (COMMAND.test(text)) return { problem: 'it contains a shell command' }
  if (!text.includes('$')) return { texts: [] }
  const names = [...text.matchAll(REFERENCE)].map(readReferenceName)
  for (const name of names) {
    if (name === undefined) return { problem: 'it contains a "${…}" with more than the name of a variable' }
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

/** The variable of a reference; `undefined` if the reference computes something. */
function readReferenceName([, plain, braced, special]: readonly (string | undefined)[]): string | undefined {
  if (braced !== undefined) return NAME.test(braced) ? braced : undefined
  return plain ?? special
}
