import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** How a server was started. */
export interface ServerStart {
  readonly args: readonly string[]
  /** The variables that the server's entry sets. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly userHome: string
  /** Looks up a variable of the server: a shell among its arguments would expand it. */
  readonly environment: (name: string) => string | undefined
}

interface Candidate {
  readonly path: string
  /** The word is written as a path. Any other word is a folder only if a folder of that name exists. */
  readonly isWrittenAsPath: boolean
  /** The word may also be several paths or a command, so it counts only if a folder of that name exists. */
  readonly mustExist?: boolean
}

const FILE_SCHEME = /file:\/\/(?:localhost)?(?=\/)/gi
const OTHER_URL = /\b[a-z][a-z0-9+.-]*:\/\/[^\s,;'"]*/gi
const REFERENCE = /\$(?:\{(\w+)\}|(\w+))/g
/** Separators in a list (`/a,/b`, `/a:/b`), an assignment (`--root=/a`) or a shell command (`cd /a && serve`). */
const SEPARATORS = /[\s=,;:'"|&()<>]+/
/** `--root`, `-y`, and the `-C` of `-C/data`. */
const FLAG = /^-[^/~.]*/
const PATH_START = /^(?:[/~]|\.\.?(?:\/|$))/
/** Search lists and general folders: no server resolves the paths of its callers against these. */
const NOT_READ_FROM = /^(?:PATH|HOME|SHELL|TMPDIR|TMP|TEMP|NODE_PATH|PYTHONPATH|LD_.*|XDG_.*)$/

const MAX_CANDIDATES = 200

/**
 * Finds the folders that a server may resolve relative paths against: those in its arguments and in the variables of its
 * entry (`/data`, `./data`, `data`, `--root=/data`, `file:///data`). Every call rechecks which of them are folders, because
 * a server may create its own. A word that is written as a path counts even if the folder is missing.
 */
export function createBaseFinder(start: ServerStart): () => readonly string[] {
  const words = start.args.flatMap((word) => findCandidates(word, start))
  const values = Object.entries(start.env)
    .filter(([name]) => !NOT_READ_FROM.test(name))
    .flatMap(([, value]) => findCandidates(value, start))
    .filter(({ isWrittenAsPath }) => isWrittenAsPath)
  const byPath = new Map([...words, ...values].map((candidate) => [candidate.path, candidate]))
  const candidates = [...byPath.values()]
  // The caller refuses relative paths if there are so many, so there is no need to check each of them.
  if (candidates.length > MAX_CANDIDATES) return () => [...byPath.keys()]
  return () => candidates.filter(mayBeFolder).map(({ path }) => path)
}

function findCandidates(word: string, start: ServerStart): readonly Candidate[] {
  const text = expandWord(word, start)
  const value = text.replace(/^-[^=]*=/, '')
  // The name of a folder may contain a space or a comma.
  const wholes = text.startsWith('-') ? [value] : [text]
  if (wholes.some((whole) => whole !== '' && readKind(toPath(whole, start)) !== 'missing'))
    return wholes.map((whole) => candidate(whole, start))
  const parts = text
    .split(SEPARATORS)
    .map((part) => part.replace(FLAG, ''))
    .filter((part) => part !== '')
  // The server may create the folder later.
  const later = wholes.filter((whole) => whole !== '' && !parts.includes(whole))
  return [
    ...parts.map((part) => candidate(part, start)),
    ...later.map((whole) => ({ ...candidate(whole, start), mustExist: true })),
  ]
}

/** Expands `file:` URIs and variables, and removes other URLs. */
function expandWord(word: string, { environment }: ServerStart): string {
  const written = word.replaceAll(REFERENCE, (whole, braced, plain) => environment(braced ?? plain) ?? whole)
  const withoutScheme = written.replaceAll(FILE_SCHEME, '')
  return (withoutScheme === written ? written : decode(withoutScheme)).replaceAll(OTHER_URL, ' ')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const candidate = (text: string, start: ServerStart): Candidate => ({
  path: toPath(text, start),
  isWrittenAsPath: PATH_START.test(text) || (text.includes('/') && !text.startsWith('@')),
})

function toPath(text: string, { cwd, userHome }: ServerStart): string {
  return /^~(?:\/|$)/.test(text) ? join(userHome, text.slice(1)) : resolve(cwd, text)
}

function mayBeFolder({ path, isWrittenAsPath, mustExist = false }: Candidate): boolean {
  const kind = readKind(path)
  return kind === 'folder' || (isWrittenAsPath && !mustExist && kind !== 'file')
}

function readKind(path: string): 'folder' | 'file' | 'missing' | 'unreadable' {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    return found.isDirectory() ? 'folder' : 'file'
  } catch (error) {
    // For any other error it cannot be a path, for example because it is a whole script.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'unreadable' : 'missing'
  }
}
