import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { causeCode, readRegularFile } from '../../disk/disk.ts'

/** An agent's own file whose servers are ours too, as it was read together with the home. */
export interface IncludedFile {
  readonly path: string
  /** Undefined where it cannot be read. */
  readonly bytes: Buffer | undefined
  /** Why it cannot be read. */
  readonly problem: string
}

const MEGABYTE = 1024 ** 2
/** Some agents keep years of history beside their servers. */
const MAX_MEGABYTES = 32
const MAX_FILES = 50

/** Told without the YAML parser, which most homes need not wait for. */
const INCLUDE_KEY = /(?:^|[{,])[ \t]*["']?include["']?[ \t]*:/m

/** The files that a config names, read once like the home itself. What the names mean is judged with the config. */
export async function readIncludedFiles(home: string, config: Buffer | undefined): Promise<readonly IncludedFile[]> {
  const text = config?.toString('utf8') ?? ''
  if (!INCLUDE_KEY.test(text)) return []
  const { parseIncludedPaths } = await import('./parse-included-paths.ts')
  const paths = new Set(parseIncludedPaths(text).map((path) => resolveIncludedPath(home, path)))
  return Promise.all([...paths].slice(0, MAX_FILES).map(readIncludedFile))
}

/** Seen from the home; `~` is the user's folder. */
export const resolveIncludedPath = (home: string, path: string): string =>
  path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(home, path)

async function readIncludedFile(path: string): Promise<IncludedFile> {
  const found = await readRegularFile(path, MAX_MEGABYTES * MEGABYTE)
  if (found.kind === 'read') return { path, bytes: found.bytes, problem: '' }
  if (found.kind === 'irregular') return { path, bytes: undefined, problem: 'this is not a regular file.' }
  if (found.kind === 'too large')
    return { path, bytes: undefined, problem: `this file has more than ${MAX_MEGABYTES} MB.` }
  const code = causeCode(found.cause)
  const problem = code === 'ENOENT' ? 'there is no such file.' : `this file cannot be read (${code}).`
  return { path, bytes: undefined, problem }
}
