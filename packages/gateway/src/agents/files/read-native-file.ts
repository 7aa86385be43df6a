import { SallyportError } from '@sallyport/core'
import { causeCode, readRegularFile } from '../../disk/disk.ts'

const MEGABYTE = 1024 ** 2
/** Some agents keep years of history beside their servers. */
const MAX_MEGABYTES = 32

/** The text of an agent's own file; nothing where there is none. It is opened for reading and in no other way (AG-2). */
export async function readNativeFile(path: string): Promise<string | undefined> {
  const found = await readRegularFile(path, MAX_MEGABYTES * MEGABYTE)
  if (found.kind === 'read') return decodeUtf8(path, found.bytes)
  if (found.kind === 'too large')
    throw unreadable(`${path} has more than ${MAX_MEGABYTES} MB, which is the most that is read.`, {
      hint: 'Let the agent tidy it up, or remove what is not needed.',
    })
  if (found.kind === 'irregular')
    throw unreadable(`${path} is not a regular file.`, { hint: 'Replace it by a file, or remove it.' })
  const code = causeCode(found.cause) || 'unknown error'
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  if (code === 'ENXIO')
    throw unreadable(`${path} is not a regular file.`, { hint: 'Replace it by a file, or remove it.' })
  throw unreadable(`${path} cannot be read (${code}).`, {
    hint: 'Give the user who runs this the right to read it.',
    cause: found.cause,
  })
}

/** A byte order mark is taken off. What is no UTF-8 would be shown with names that nobody wrote. */
function decodeUtf8(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw unreadable(`${path} is not a text in UTF-8.`, { hint: 'Save it as UTF-8.', cause })
  }
}

const unreadable = (message: string, details: { readonly hint: string; readonly cause?: unknown }): SallyportError =>
  new SallyportError('AGENT_CONFIG_UNREADABLE', message, details)
