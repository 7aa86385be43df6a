import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { causeCode, readRegularFile } from '../disk/disk.ts'

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
const MOST_MEGABYTES = 32
const MOST_FILES = 50

/** Told without the YAML parser, which most homes need not wait for. */
const MENTIONS = /(?:^|[{,])[ \t]*["']?include["']?[ \t]*:/m

/** The files that a config names, read once like the home itself. What the names mean is judged with the config. */
export async function readIncluded(home: string, config: Buffer | undefined): Promise<readonly IncludedFile[]> {
  const text = config?.toString('utf8') ?? ''
  if (!MENTIONS.test(text)) return []
  const { includedPaths } = await import('./included-paths.ts')
  const paths = new Set(includedPaths(text).map((path) => includedPath(home, path)))
  return Promise.all([...paths].slice(0, MOST_FILES).map(readOne))
}

/** Seen from the home; `~` is the user's folder. */
export const includedPath = (home: string, path: string): string =>
  path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(home, path)

async function readOne(path: string): Promise<IncludedFile> {
  const found = await readRegularFile(path, MOST_MEGABYTES * MEGABYTE)
  if (found.kind === 'read') return { path, bytes: found.bytes, problem: '' }
  if (found.kind === 'irregular') return { path, bytes: undefined, problem: 'this is not a regular file.' }
  if (found.kind === 'too large')
    return { path, bytes: undefined, problem: `this file has more than ${MOST_MEGABYTES} MB.` }
  const code = causeCode(found.cause)
  const problem = code === 'ENOENT' ? 'there is no such file.' : `this file cannot be read (${code}).`
  return { path, bytes: undefined, problem }
}
