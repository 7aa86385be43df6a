import { createHash } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'

/** Where the gateway of a state listens for its own user's programs. */
export interface SocketLocation {
  readonly folder: string
  readonly name: string
  /** What the kernel is given: short enough for it, and good until the place is closed. */
  readonly path: string
  close(): void
}

export interface SocketEnvironment {
  readonly platform: NodeJS.Platform
  readonly tempFolder: string
}

/** The BSDs take 103 bytes for a socket (sun_path without its final NUL), some cut the rest off; it is born as `….new`. */
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

/** The folder may have any path: its descriptor has a short one, which means the same to every process. */
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
      `The state ${state} is too long a path for a socket, and so is ${temporary}, where an alias of it would be.`,
      { hint: 'Choose a shorter state folder with --state.' },
    )
  requireOwnFolder(folder)
  return { folder, name, path, close: () => {} }
}

/** Anybody can make a folder where temporary files are: a gateway in it would be theirs. */
export function requireOwnFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (!found || !process.getuid || (found.isDirectory() && found.uid === process.getuid())) return
  throw new SallyportError('STATE_UNUSABLE', `${folder} is not a folder of this user.`, {
    hint: 'Choose a shorter state folder with --state.',
  })
}

/** Connects to the gateway of a state. Throws where there is no such place. */
export function connectSocket(state: string): Socket {
  const place = openSocketLocation(state)
  const close = (): void => place.close()
  return connect(place.path).once('connect', close).once('close', close)
}
