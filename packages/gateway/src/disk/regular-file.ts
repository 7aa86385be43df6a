import { constants, type FileHandle, open } from 'node:fs/promises'

/** The result of reading a path. */
export type RegularFileResult =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  /** A folder, a pipe or the like is there. */
  | { readonly kind: 'irregular' }
  | { readonly kind: 'too large' }
  | { readonly kind: 'unreadable'; readonly cause: unknown }

const CHUNK_BYTES = 4 * 1024

/** Reads a regular file that somebody else wrote, up to `maxBytes`. Links are followed. */
export async function readRegularFile(path: string, maxBytes: number): Promise<RegularFileResult> {
  let handle: FileHandle
  try {
    // Without O_NONBLOCK a named pipe in somebody's repository would block us forever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    return { kind: 'unreadable', cause }
  }
  try {
    return await readOpened(handle, maxBytes)
  } catch (cause) {
    return { kind: 'unreadable', cause }
  } finally {
    await handle.close()
  }
}

async function readOpened(handle: FileHandle, maxBytes: number): Promise<RegularFileResult> {
  const found = await handle.stat()
  if (!found.isFile()) return { kind: 'irregular' }
  const chunks: Buffer[] = []
  let length = 0
  for (;;) {
    // In one read, unless the file grows meanwhile.
    const rest = Math.min(found.size, maxBytes) - length
    const chunk = Buffer.allocUnsafe(Math.max(rest, 0) + CHUNK_BYTES)
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, length)
    if (bytesRead === 0)
      return { kind: 'read', bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) }
    chunks.push(chunk.subarray(0, bytesRead))
    length += bytesRead
    if (length > maxBytes) return { kind: 'too large' }
  }
}
