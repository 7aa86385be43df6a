import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isJsonList, isJsonObject, type Json } from '@sallyport/core'
import { causeCode, readRegularFile } from '../../disk/disk.ts'

/** A config file of an agent whose servers the gateway uses too. It is read together with the home. */
export interface IncludedFile {
  readonly path: string
  /** Undefined if the file cannot be read. */
  readonly bytes: Buffer | undefined
  /** Why the file cannot be read; else empty. */
  readonly problem: string
}

const MEGABYTE = 1024 ** 2
/** Some agents store years of history in the same file as their servers. */
const MAX_MEGABYTES = 32
const MAX_FILES = 50

/** A quick test without the YAML parser: most homes include nothing and should not wait until it is loaded. */
const INCLUDE_KEY = /(?:^|[{,])[ \t]*["']?include["']?[ \t]*:/m

/** Reads the files that a config includes, once, like the home itself. Problems are reported when the config is read. */
export async function readIncludedFiles(home: string, config: Buffer | undefined): Promise<readonly IncludedFile[]> {
  const text = config?.toString('utf8') ?? ''
  if (!INCLUDE_KEY.test(text)) return []
  const { parseYamlValue } = await import('../servers/written-servers.ts')
  const included = listIncludedPaths(parseYamlValue(text)?.value)
  const paths = new Set(included.map((path) => resolveIncludedPath(home, path)))
  return Promise.all([...paths].slice(0, MAX_FILES).map(readIncludedFile))
}

/** The paths under `include`. Invalid ones are ignored here. */
function listIncludedPaths(config: Json | undefined): readonly string[] {
  const include = isJsonObject(config) ? config.include : undefined
  const paths = isJsonList(include) ? include : [include ?? '']
  return paths.filter((path): path is string => typeof path === 'string' && path.trim() !== '')
}

/** Relative to the home; `~` is the user's home folder. */
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
