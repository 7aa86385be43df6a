import { createHash } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'

/** Where the gateway of a state folder listens for programs of the same user. */
export interface SocketLocation {
  readonly folder: string
  readonly name: string
  /** The path for the kernel: short enough, and valid until `close`. */
  readonly path: string
  close(): void
}

export interface SocketEnvironment {
  readonly platform: NodeJS.Platform
  readonly tempFolder: string
}

/** The BSDs allow 103 bytes for a socket path (sun_path without its final NUL), and some truncate it silently. The suffix `.new` needs 4 of them. */
const MAX_PATH_BYTES = 99
const SOCKET_NAME = 'gateway.sock'

export function openSocketLocation(
  state: string,
  { platform, tempFolder }: SocketEnvironment = { platform: process.platform, tempFolder: tmpdir() },
): SocketLocation {
  const path = join(state, SOCKET_NAME)
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { folder: state, name: SOCKET_NAME, path, close: () => {} }
  return platform === 'linux' ? locateByDescriptor(state) : locateByAlias(state, tempFolder)
}

/** The folder's path may be too long. The path through its descriptor is short, and leads to the same socket in every process. */
function locateByDescriptor(state: string): SocketLocation {
  const descriptor = openSync(state, constants.O_RDONLY | constants.O_DIRECTORY)
  let open = true
  const close = (): void => {
    if (open) closeSync(descriptor)
    open = false
  }
  return { folder: state, name: SOCKET_NAME, path: `/proc/self/fd/${descriptor}/${SOCKET_NAME}`, close }
}

function locateByAlias(state: string, temporary: string): SocketLocation {
  const folder = join(temporary, `sallyport-${process.getuid?.() ?? 0}`)
  const name = `${createHash('sha256').update(state).digest('hex').slice(0, 16)}.sock`
  const path = join(folder, name)
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new SallyportError(
      'STATE_UNUSABLE',
      `The path of the state folder ${state} is too long for a socket, and so is that of its alias in ${temporary}.`,
      { hint: 'Choose a shorter state folder with --state.' },
    )
  requireOwnFolder(folder)
  return { folder, name, path, close: () => {} }
}

/** Any user can create a folder among the temporary files, and could control a gateway in it. */
export function requireOwnFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (!found || !process.getuid || (found.isDirectory() && found.uid === process.getuid())) return
  throw new SallyportError('STATE_UNUSABLE', `${folder} is not a folder of this user.`, {
    hint: 'Choose a shorter state folder with --state.',
  })
}

/** Connects to the gateway of a state folder. Throws if the folder does not exist. */
export function connectSocket(state: string): Socket {
  const location = openSocketLocation(state)
  const close = (): void => location.close()
  return connect(location.path).once('connect', close).once('close', close)
}
