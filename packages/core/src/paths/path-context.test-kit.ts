import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { LinkStatus, PathContext } from './path-context.ts'

/** Creates a folder on the disk: files, folders (names with a slash at the end) and links (`name -> target`). */
export function createTree(names: readonly string[]): { readonly root: string; remove(): void } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-core-')))
  for (const name of names) {
    const [path = '', target] = name.split(' -> ')
    mkdirSync(dirname(join(root, path)), { recursive: true })
    if (target !== undefined) symlinkSync(target, join(root, path))
    else if (path.endsWith('/')) mkdirSync(join(root, path), { recursive: true })
    else writeFileSync(join(root, path), '')
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) }
}

/** The path context of a server that runs in `cwd`, with the real disk. */
export function createDiskContext(cwd: string, changes: Partial<PathContext> = {}): PathContext {
  return {
    environment: () => undefined,
    userHome: join(cwd, 'home'),
    cwd,
    listBaseFolders: () => [],
    inspectLink,
    listNames: (folder) => (existsSync(folder) ? readdirSync(folder) : []),
    case: 'exact',
    ...changes,
  }
}

/** Another machine, of which nothing is known. */
export const UNKNOWN_CONTEXT: PathContext = {
  environment: () => undefined,
  userHome: undefined,
  cwd: undefined,
  listBaseFolders: () => [],
  inspectLink: undefined,
  listNames: () => [],
  case: 'exact',
}

function inspectLink(path: string): LinkStatus {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    return found.isSymbolicLink() ? { target: readlinkSync(path) } : 'other'
  } catch {
    return 'unreadable'
  }
}
