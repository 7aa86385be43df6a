import { createHash } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'

/** Where the gateway of a state listens for its own user's programs. */
export interface SocketPlace {
  readonly folder: string
  readonly name: string
  /** What the kernel is given: short enough for it, and good until the place is closed. */
  readonly path: string
  close(): void
}

export interface Surroundings {
  readonly platform: NodeJS.Platform
  readonly temporary: string
}

/** The BSDs take 103 bytes for a socket (sun_path without its final NUL), some cut the rest off; it is born as `….new`. */
const MAX_PATH = 99
const NAME = 'gateway.sock'

export function openSocketPlace(
  state: string,
  { platform, temporary }: Surroundings = { platform: process.platform, temporary: tmpdir() },
): SocketPlace {
  const path = join(state, NAME)
  if (Buffer.byteLength(path) <= MAX_PATH) return { folder: state, name: NAME, path, close: () => {} }
  return platform === 'linux' ? placeByDescriptor(state) : placeByAlias(state, temporary)
}

/** The folder may have any path: its descriptor has a short one, which means the same to every process. */
function placeByDescriptor(state: string): SocketPlace {
  const descriptor = openSync(state, constants.O_RDONLY | constants.O_DIRECTORY)
  let open = true
  const close = (): void => {
    if (open) closeSync(descriptor)
    open = false
  }
  return { folder: state, name: NAME, path: `/proc/self/fd/${descriptor}/${NAME}`, close }
}

function placeByAlias(state: string, temporary: string): SocketPlace {
  const folder = join(temporary, `sallyport-${process.getuid?.() ?? 0}`)
  const name = `${createHash('sha256').update(state).digest('hex').slice(0, 16)}.sock`
  const path = join(folder, name)
  if (Buffer.byteLength(path) > MAX_PATH)
    throw new SallyportError(
      'STATE_UNUSABLE',
      `The state ${state} is too long a path for a socket, and so is ${temporary}, where an alias of it would be.`,
      { hint: 'Choose a shorter state folder with --state.' },
    )
  requireOwn(folder)
  return { folder, name, path, close: () => {} }
}

/** Anybody can make a folder where temporary files are: a gateway in it would be theirs. */
export function requireOwn(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (!found || !process.getuid || (found.isDirectory() && found.uid === process.getuid())) return
  throw new SallyportError('STATE_UNUSABLE', `${folder} is not a folder of this user.`, {
    hint: 'Choose a shorter state folder with --state.',
  })
}

/** Connects to the gateway of a state. Throws where there is no such place. */
export function connectSocket(state: string): Socket {
  const place = openSocketPlace(state)
  const close = (): void => place.close()
  return connect(place.path).once('connect', close).once('close', close)
}
