import { type Stats, statSync } from 'node:fs'
import { isAbsolute, normalize, resolve } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { OWN_FOLDER, WORKSPACE } from '../drivers/bubblewrap-arguments.ts'
import type { Mount } from '../drivers/driver.ts'
import { findProtection, isInside, type ProtectedFolders, resolveLinks } from './protected-folders.ts'

export interface MountContext {
  readonly cwd: string
  readonly protection: ProtectedFolders
}

const ACCESS = { ro: 'read', rw: 'write' } as const

/** Places inside that are the sandbox's own. */
const RESERVED = ['/proc', '/dev', '/sys', OWN_FOLDER]

/** `host`, `host:guest`, `host:rw` or `host:guest:rw`; without a guest path it is the same inside. */
export function parseMount(written: string, context: MountContext): Mount {
  const parts = written.split(':')
  const last = parts.at(-1)
  const access = parts.length > 1 && (last === 'ro' || last === 'rw') ? ACCESS[last] : undefined
  const [path = '', guest, ...rest] = access === undefined ? parts : parts.slice(0, -1)
  if (path === '' || rest.length > 0 || guest === '')
    throw new SallyportError('USAGE', `"${written}" is not a valid mount.`, {
      hint: 'Write a path, and if needed the path inside and ro or rw: /data, /data:rw, /data:/mnt/data:ro. A path that contains a colon cannot be mounted: mount the folder around it.',
    })
  const host = requireMountable(path, context)
  return { host, guest: requireGuest(guest ?? host), access: access ?? 'read' }
}

/** The folder that is at /workspace, which the program may write. */
export function parseWorkspace(path: string, context: MountContext): Mount {
  const host = requireMountable(path, context)
  if (statSync(host).isDirectory()) return { host, guest: WORKSPACE, access: 'write' }
  throw new SallyportError('USAGE', `The workspace ${path} is not a folder.`, { hint: 'Name a folder.' })
}

function requireMountable(path: string, { cwd, protection }: MountContext): string {
  const host = resolveLinks(resolve(cwd, path))
  const found = statSync(host, { throwIfNoEntry: false })
  if (found === undefined)
    throw new SallyportError('USAGE', `${path} does not exist, so it cannot be mounted.`, {
      hint: 'Create it, or correct the path.',
    })
  const reason = findProtection(host, protection) ?? findKindProblem(found)
  if (reason === undefined) return host
  throw new SallyportError('USAGE', `${path} cannot be mounted: ${reason}.`, {
    hint: 'Mount the folder that the program needs, and no more.',
  })
}

/** A socket would be a way around the network mode. */
function findKindProblem(found: Stats): string | undefined {
  return found.isDirectory() || found.isFile() ? undefined : 'it is neither a folder nor an ordinary file'
}

function requireGuest(guest: string): string {
  const reserved = RESERVED.find((folder) => isInside(guest, folder))
  if (
    isAbsolute(guest) &&
    normalize(guest) === guest &&
    guest !== '/' &&
    !guest.endsWith('/') &&
    reserved === undefined
  )
    return guest
  const reason =
    reserved === undefined
      ? 'it is not an absolute path in its shortest form'
      : `${reserved} is used by the sandbox itself`
  throw new SallyportError('USAGE', `Nothing can be mounted at ${guest}: ${reason}.`, {
    hint: 'Choose another path inside, such as /mnt/data.',
  })
}
