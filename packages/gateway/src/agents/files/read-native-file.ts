import { SallyportError } from '@sallyport/core'
import { causeCode, readRegularFile } from '../../disk/disk.ts'

const MEGABYTE = 1024 ** 2
/** Some agents store years of history in the same file as their servers. */
const MAX_MEGABYTES = 32

/** The text of an agent's file; `undefined` if it does not exist. The file is opened only for reading (AG-2). */
export async function readNativeFile(path: string): Promise<string | undefined> {
  const found = await readRegularFile(path, MAX_MEGABYTES * MEGABYTE)
  if (found.kind === 'read') return decodeUtf8(path, found.bytes)
  if (found.kind === 'too large')
    throw unreadable(`${path} is larger than ${MAX_MEGABYTES} MB, which is the maximum.`, {
      hint: 'Let the agent clean it up, or remove what is not needed.',
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

/** Removes a byte order mark. Invalid UTF-8 is refused, because names would be shown with replaced characters. */
function decodeUtf8(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw unreadable(`${path} is not valid UTF-8.`, { hint: 'Save it as UTF-8.', cause })
  }
}

const unreadable = (message: string, details: { readonly hint: string; readonly cause?: unknown }): SallyportError =>
  new SallyportError('AGENT_CONFIG_UNREADABLE', message, details)
