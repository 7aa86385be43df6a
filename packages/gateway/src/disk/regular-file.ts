import { constants, type FileHandle, open } from 'node:fs/promises'

/** What was found where a file was looked for. */
export type RegularFileResult =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  /** A folder, a pipe or the like stands there. */
  | { readonly kind: 'irregular' }
  | { readonly kind: 'too large' }
  | { readonly kind: 'unreadable'; readonly cause: unknown }

const CHUNK_BYTES = 4 * 1024

/** The bytes of a regular file that somebody else wrote, up to so many; links are followed. */
export async function readRegularFile(path: string, mostBytes: number): Promise<RegularFileResult> {
  let handle: FileHandle
  try {
    // Without O_NONBLOCK a named pipe in somebody's repository would hold us up for ever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    return { kind: 'unreadable', cause }
  }
  try {
    return await readOpened(handle, mostBytes)
  } catch (cause) {
    return { kind: 'unreadable', cause }
  } finally {
    await handle.close()
  }
}

async function readOpened(handle: FileHandle, mostBytes: number): Promise<RegularFileResult> {
  const found = await handle.stat()
  if (!found.isFile()) return { kind: 'irregular' }
  const chunks: Buffer[] = []
  let length = 0
  for (;;) {
    // In one go, unless it grows meanwhile.
    const rest = Math.min(found.size, mostBytes) - length
    const chunk = Buffer.allocUnsafe(Math.max(rest, 0) + CHUNK_BYTES)
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, length)
    if (bytesRead === 0)
      return { kind: 'read', bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) }
    chunks.push(chunk.subarray(0, bytesRead))
    length += bytesRead
    if (length > mostBytes) return { kind: 'too large' }
  }
}
