import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** What a server was started with. */
export interface ServerStart {
  readonly args: readonly string[]
  /** The variables that its entry sets. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly userHome: string
  /** What it finds in its environment: a shell among its arguments expands it. */
  readonly environment: (name: string) => string | undefined
}

interface Candidate {
  readonly path: string
  /** It is written as a path. Any other word is a folder only if there is one of that name. */
  readonly isWrittenAsPath: boolean
  /** It may as well be several paths, or a command: it counts once there is a folder of that name. */
  readonly mustExist?: boolean
}

const FILE_SCHEME = /file:\/\/(?:localhost)?(?=\/)/gi
const OTHER_URL = /\b[a-z][a-z0-9+.-]*:\/\/[^\s,;'"]*/gi
const REFERENCE = /\$(?:\{(\w+)\}|(\w+))/g
/** Of a list (`/a,/b`, `/a:/b`), an assignment (`--root=/a`) or a command for a shell (`cd /a && serve`). */
const SEPARATORS = /[\s=,;:'"|&()<>]+/
/** `--root`, `-y`, and what `-C/data` has before its value. */
const FLAG = /^-[^/~.]*/
const PATH_START = /^(?:[/~]|\.\.?(?:\/|$))/
/** Search lists and the folders of every program: no server reads the paths of its callers from there. */
const NOT_READ_FROM = /^(?:PATH|HOME|SHELL|TMPDIR|TMP|TEMP|NODE_PATH|PYTHONPATH|LD_.*|XDG_.*)$/

const MAX_CANDIDATES = 200

/**
 * Looks for the folders from which a server may read relative paths: those among its arguments and among the variables of
 * its entry (`/data`, `./data`, `data`, `--root=/data`, `file:///data`). Each call asks again which of them are folders: a
 * server may create its own. One that is written as a path counts even if it is missing.
 */
export function createBaseFinder(start: ServerStart): () => readonly string[] {
  const words = start.args.flatMap((word) => findCandidates(word, start))
  const values = Object.entries(start.env)
    .filter(([name]) => !NOT_READ_FROM.test(name))
    .flatMap(([, value]) => findCandidates(value, start))
    .filter(({ isWrittenAsPath }) => isWrittenAsPath)
  const byPath = new Map([...words, ...values].map((candidate) => [candidate.path, candidate]))
  const candidates = [...byPath.values()]
  // So many are refused by whoever reads a path from them: no call has to look at all of them first.
  if (candidates.length > MAX_CANDIDATES) return () => [...byPath.keys()]
  return () => candidates.filter(mayBeFolder).map(({ path }) => path)
}

function findCandidates(word: string, start: ServerStart): readonly Candidate[] {
  const text = expandWord(word, start)
  const value = text.replace(/^-[^=]*=/, '')
  // A folder may have a space or a comma in its name.
  const wholes = text.startsWith('-') ? [value] : [text]
  if (wholes.some((whole) => whole !== '' && kindOf(toPath(whole, start)) !== 'missing'))
    return wholes.map((whole) => candidate(whole, start))
  const parts = text
    .split(SEPARATORS)
    .map((part) => part.replace(FLAG, ''))
    .filter((part) => part !== '')
  // The server may yet create it.
  const later = wholes.filter((whole) => whole !== '' && !parts.includes(whole))
  return [
    ...parts.map((part) => candidate(part, start)),
    ...later.map((whole) => ({ ...candidate(whole, start), mustExist: true })),
  ]
}

/** With `file:` URIs and variables written out, and without other addresses. */
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
  const kind = kindOf(path)
  return kind === 'folder' || (isWrittenAsPath && !mustExist && kind !== 'file')
}

function kindOf(path: string): 'folder' | 'file' | 'missing' | 'unreadable' {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    return found.isDirectory() ? 'folder' : 'file'
  } catch (error) {
    // Anything else cannot be a path at all, such as a whole script.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'unreadable' : 'missing'
  }
}
