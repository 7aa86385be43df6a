import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { SYSTEM_FOLDERS, WORKSPACE } from '../bubblewrap-arguments.ts'
import type { Engine, EngineReply } from './engine.ts'

/** Places at which something is mounted in every container. */
const FOLDERS = ['etc', 'usr', 'proc', 'dev', 'sys', 'run']
/** Runtimes give a file system in memory the mode of the folder that it covers. */
const WRITABLE_FOLDERS = ['tmp', WORKSPACE.slice(1)]

/** Docker puts the first process of a container there, so it may not be a link into a folder that we mount. */
const INIT_FOLDER = '/sbin'

interface TarEntry {
  readonly name: string
  readonly mode?: number
  /** Missing for a folder. */
  readonly link?: string
}

/**
 * The root of containers that run programs of this machine: empty folders, and the links that lead from `/bin` to
 * `/usr/bin` and the like. All files come by mounts.
 */
export interface BaseImage {
  readonly name: string
  readonly tar: Buffer
}

export function createBaseImage(): BaseImage {
  const links = SYSTEM_FOLDERS.filter((path) => path !== INIT_FOLDER && isLink(path))
  const entries = [
    ...[...FOLDERS, INIT_FOLDER.slice(1)].map((name): TarEntry => ({ name })),
    ...WRITABLE_FOLDERS.map((name): TarEntry => ({ name, mode: 0o1777 })),
    ...links.map((path): TarEntry => ({ name: path.slice(1), link: readlinkSync(path) })),
  ]
  const tar = writeTar(entries)
  const hash = createHash('sha256').update(tar).digest('hex').slice(0, 12)
  // With a host name, no engine asks which registry is meant.
  return { name: `localhost/sallyport-base:${hash}`, tar }
}

/** Creates the image if the engine does not have it. Returns what failed. */
export async function importBaseImage(engine: Engine, { name, tar }: BaseImage): Promise<EngineReply | undefined> {
  const found = await engine.run(['image', 'inspect', name])
  if (found.code === 0) return undefined
  const imported = await engine.run(['import', '-', name], { input: tar })
  return imported.code === 0 ? undefined : imported
}

const isLink = (path: string): boolean => existsSync(path) && lstatSync(path).isSymbolicLink()

const BLOCK = 512
const FOLDER_TYPE = '5'
const LINK_TYPE = '2'

/** An archive of folders and symbolic links, in the ustar format. */
function writeTar(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.map(writeHeader), Buffer.alloc(2 * BLOCK)])
}

function writeHeader({ name, link, mode = 0o755 }: TarEntry): Buffer {
  const header = Buffer.alloc(BLOCK)
  const put = (text: string, offset: number): void => void header.write(text, offset, 'latin1')
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`
  put(link === undefined ? `${name}/` : name, 0)
  put(octal(mode, 7), 100)
  // Owner, group, size and time are all zero, so equal archives have equal bytes.
  for (const offset of [108, 116]) put(octal(0, 7), offset)
  for (const offset of [124, 136]) put(octal(0, 11), offset)
  put(link === undefined ? FOLDER_TYPE : LINK_TYPE, 156)
  put(link ?? '', 157)
  put('ustar\x0000', 257)
  put('        ', 148)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(`${octal(sum, 6)} `, 148)
  return header
}
