import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, readRegularFile } from '../../disk/disk.ts'
import { type IncludedFile, readIncludedFiles } from './included-file.ts'

/** The files of a home that decide what the gateway does. */
const HOME_FILES = ['config.yaml', 'config.json', 'tools.yaml', 'profiles.json'] as const

/** The first one that is there is read. */
export const CONFIG_FILES = ['config.yaml', 'config.json'] as const satisfies readonly HomeFile[]

/** What settings are made of. tools.yaml is followed by whoever keeps it. */
export const SETTINGS_FILES = [...CONFIG_FILES, 'profiles.json'] as const satisfies readonly HomeFile[]

export type HomeFile = (typeof HOME_FILES)[number]

/** The bytes of a home, read once: what is judged, parsed and trusted are the same bytes. */
export interface HomeContent {
  readonly path: string
  readonly files: ReadonlyMap<HomeFile, Buffer>
  /** Files of agents that the config includes, wherever they are. */
  readonly included?: readonly IncludedFile[]
  /** Of all these files, names included: what trust is about. */
  readonly digest: string
  /** Of the files that settings are made of. */
  readonly configDigest: string
}

const MEGABYTE = 1024 ** 2
/** Thousands of tools have an entry each. */
const maxMegabytes = (file: string): number => (basename(file) === 'tools.yaml' ? 16 : 4)
/** How large a file of a home may be. */
export const maxHomeFileBytes = (file: string): number => maxMegabytes(file) * MEGABYTE

/** Reads a home through whatever links it holds. A missing file or folder is an empty one. */
export async function readHome(path: string): Promise<HomeContent> {
  await assertFolder(path)
  const files = new Map<HomeFile, Buffer>()
  for (const name of HOME_FILES) {
    const bytes = await readHomeFile(join(path, name))
    if (bytes !== undefined) files.set(name, bytes)
  }
  const config = CONFIG_FILES.map((name) => files.get(name)).find((bytes) => bytes !== undefined)
  return buildContent(path, files, await readIncludedFiles(path, config))
}

/** The same home with another file in place of one of its own. */
export function withFile(
  { path, files, included }: HomeContent,
  name: HomeFile,
  bytes: Buffer | undefined,
): HomeContent {
  const changed = new Map(files)
  if (bytes === undefined) changed.delete(name)
  else changed.set(name, bytes)
  return buildContent(path, changed, included)
}

function buildContent(
  path: string,
  files: ReadonlyMap<HomeFile, Buffer>,
  included: readonly IncludedFile[] = [],
): HomeContent {
  const digest = (names: readonly HomeFile[]): string => computeDigest(files, names, included)
  return { path, files, included, digest: digest(HOME_FILES), configDigest: digest(SETTINGS_FILES) }
}

async function assertFolder(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if (causeCode(error) === 'ENOENT') return undefined
    throw unreadable(path, error)
  })
  if (found === undefined || found.isDirectory()) return
  throw new SallyportError('HOME_UNREADABLE', `The home ${path} is not a folder.`, {
    hint: 'Name the folder that holds config.yaml, with --home or SALLYPORT_HOME.',
  })
}

/** The bytes of one file of a home; nothing where it is not there. */
export async function readHomeFile(file: string): Promise<Buffer | undefined> {
  const found = await readRegularFile(file, maxHomeFileBytes(file))
  if (found.kind === 'read') return found.bytes
  if (found.kind === 'too large') throw tooLarge(file)
  if (found.kind === 'unreadable') {
    if (causeCode(found.cause) === 'ENOENT') return undefined
    throw unreadable(file, found.cause)
  }
  throw new SallyportError('HOME_UNREADABLE', `${file} is not a regular file.`, {
    hint: 'Replace it by a file, or remove it.',
  })
}

function tooLarge(file: string): SallyportError {
  return new SallyportError(
    'HOME_UNREADABLE',
    `${file} has more than ${maxMegabytes(file)} MB, which is the most that is read.`,
    {
      hint: 'Remove what is not needed from it.',
    },
  )
}

function unreadable(path: string, cause: unknown): SallyportError {
  const code = causeCode(cause) || 'unknown error'
  const hint =
    code === 'EACCES' || code === 'EPERM'
      ? 'Give the user who starts the gateway the right to read it, or name another home with --home.'
      : 'Check the path, or name another home with --home.'
  return new SallyportError('HOME_UNREADABLE', `${path} cannot be read (${code}).`, { hint, cause })
}

function computeDigest(
  files: ReadonlyMap<HomeFile, Buffer>,
  names: readonly HomeFile[],
  included: readonly IncludedFile[],
): string {
  const hash = createHash('sha256')
  for (const name of names) {
    const bytes = files.get(name)
    if (bytes !== undefined) hash.update(`${name}\0${bytes.length}\0`).update(bytes)
  }
  for (const { path, bytes } of included)
    hash.update(`include\0${path}\0${bytes?.length ?? 'none'}\0`).update(bytes ?? '')
  return hash.digest('hex')
}
