import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, readRegularFile } from '../../disk/disk.ts'
import { type IncludedFile, readIncludedFiles } from './included-file.ts'

/** The files of a home that determine what the gateway does. */
const HOME_FILES = ['config.yaml', 'config.json', 'tools.yaml', 'profiles.json'] as const

/** Only the first one that exists is read. */
export const CONFIG_FILES = ['config.yaml', 'config.json'] as const satisfies readonly HomeFile[]

/** The files that settings are made from. ToolsEditor watches tools.yaml separately. */
export const SETTINGS_FILES = [...CONFIG_FILES, 'profiles.json'] as const satisfies readonly HomeFile[]

export type HomeFile = (typeof HOME_FILES)[number]

/** The bytes of a home, read once, so that the bytes that are trusted are also those that are parsed. */
export interface HomeContent {
  readonly path: string
  readonly files: ReadonlyMap<HomeFile, Buffer>
  /** Files of agents that the config includes. They may be outside the home. */
  readonly included?: readonly IncludedFile[]
  /** The digest of the names and contents of all these files. Trust is recorded for this digest. */
  readonly digest: string
  /** The digest of the files that settings are made from. */
  readonly configDigest: string
}

const MEGABYTE = 1024 ** 2
/** tools.yaml may be larger, because thousands of tools have an entry each. */
const maxMegabytes = (file: string): number => (basename(file) === 'tools.yaml' ? 16 : 4)
/** The maximum size of a file in a home. */
export const maxHomeFileBytes = (file: string): number => maxMegabytes(file) * MEGABYTE

/** Reads a home and follows links. A missing file or folder counts as empty. */
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

/** The same home with one file replaced, or removed if `bytes` is `undefined`. */
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

/** Reads one file of a home; `undefined` if it does not exist. */
export async function readHomeFile(file: string): Promise<Buffer | undefined> {
  const found = await readRegularFile(file, maxHomeFileBytes(file))
  if (found.kind === 'read') return found.bytes
  if (found.kind === 'too large') throw tooLarge(file)
  if (found.kind === 'unreadable') {
    if (causeCode(found.cause) === 'ENOENT') return undefined
    throw unreadable(file, found.cause)
  }
  throw new SallyportError('HOME_UNREADABLE', `${file} is not a regular file.`, {
    hint: 'Replace it with a regular file, or remove it.',
  })
}

function tooLarge(file: string): SallyportError {
  return new SallyportError(
    'HOME_UNREADABLE',
    `${file} has more than ${maxMegabytes(file)} MB, which is the maximum.`,
    {
      hint: 'Remove parts that are not needed.',
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
