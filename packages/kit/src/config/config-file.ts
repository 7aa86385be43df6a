import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { SallyportError } from '@sallyport/core'
import type { Environment } from '../identity/identity.ts'

export interface ConfigLocation {
  /** A config.yaml or config.json. Absent: it is looked for. */
  readonly configPath?: string | undefined
  readonly environment: Environment
  readonly cwd: string
}

export interface ConfigFile {
  readonly path: string
  readonly text: string
}

const CONFIG_NAMES = ['config.yaml', 'config.json']
const MAX_BYTES = 4 * 1024 * 1024

/** The named file; else that of `$SALLYPORT_HOME`; else the first one that is there, from the nearest folder on. */
export async function readConfigFile(place: ConfigLocation): Promise<ConfigFile> {
  const candidates = listCandidates(place)
  for (const path of candidates) {
    const text = await readTextFile(path)
    if (text !== undefined) return { path, text }
  }
  throw new SallyportError('CONFIG_INVALID', `There is no configuration: looked for ${candidates.join(', ')}.`, {
    hint: 'Make one of them, or name another with configPath.',
  })
}

/** Whoever names a place means it: another file in its stead would puzzle more than an error. */
function listCandidates({ configPath, environment, cwd }: ConfigLocation): readonly string[] {
  if (configPath !== undefined) return [resolve(cwd, configPath)]
  const { SALLYPORT_HOME: home, XDG_CONFIG_HOME: xdg } = environment
  const folders =
    home !== undefined && home !== ''
      ? [home]
      : ['.', '.sallyport', join(xdg?.startsWith('/') ? xdg : join(homedir(), '.config'), 'sallyport')]
  return folders.flatMap((folder) => CONFIG_NAMES.map((name) => resolve(cwd, folder, name)))
}

/** Nothing where there is no such file. A FIFO is not opened: it would wait for ever. */
export async function readTextFile(path: string): Promise<string | undefined> {
  const hint = 'Give a regular file of at most 4 MB that this program may read.'
  try {
    const found = await stat(path)
    if (found.isFile() && found.size <= MAX_BYTES) return await readFile(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new SallyportError('CONFIG_INVALID', `${path} cannot be read (${code}).`, { hint, cause })
  }
  throw new SallyportError('CONFIG_INVALID', `${path} is no regular file, or larger than 4 MB.`, { hint })
}
