import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Encrypted files: the mark, a random salt, then chunks of 64 KiB, each with AES-256-GCM and a tag of its own.
 *
 * The key of a file is derived from the key of its session, the salt and the file's name, so no nonce is used twice and
 * no file can take the place of another. The nonce of a chunk is its number and whether it is the last one, so chunks
 * cannot be left out, repeated, swapped or cut off.
 */
const MARK = Buffer.from('SPR1')
const SALT_BYTES = 16
const HEADER_BYTES = MARK.length + SALT_BYTES
const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const STORED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES
const CIPHER = 'aes-256-gcm'
/** 4 MiB: between them, other work gets its turn. */
const CHUNKS_AT_ONCE = 64

/** With what a file is encrypted. */
export interface Seal {
  /** Of the session. */
  readonly key: Uint8Array
  /** Of the file, in the session. */
  readonly name: string
}

/** The size of the content of an encrypted file; `undefined` if no such file can have this size. */
export function plainSize(storedSize: number): number | undefined {
  const body = storedSize - HEADER_BYTES
  const chunks = Math.ceil(body / STORED_CHUNK_BYTES)
  const size = body - chunks * TAG_BYTES
  return chunks < 1 || size <= (chunks - 1) * CHUNK_BYTES - (chunks === 1 ? 1 : 0) ? undefined : size
}

/** Whether a file begins like an encrypted one. Nobody else writes such files on purpose. */
export async function looksSealed({ size, read }: ReadableBytes): Promise<boolean> {
  return plainSize(size) !== undefined && (await read(0, MARK.length)).equals(MARK)
}

/** Encrypts the content of a file. */
export function sealBytes(content: Uint8Array, seal: Seal): Buffer {
  const salt = randomBytes(SALT_BYTES)
  const key = deriveKey(seal, salt)
  const chunks = Math.max(1, Math.ceil(content.length / CHUNK_BYTES))
  const sealed = Buffer.allocUnsafe(HEADER_BYTES + content.length + chunks * TAG_BYTES)
  MARK.copy(sealed)
  salt.copy(sealed, MARK.length)
  for (let index = 0; index < chunks; index++) {
    const cipher = createCipheriv(CIPHER, key, nonceOf(index, index === chunks - 1))
    const at = HEADER_BYTES + index * STORED_CHUNK_BYTES
    const encrypted = cipher.update(content.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES))
    cipher.final()
    encrypted.copy(sealed, at)
    cipher.getAuthTag().copy(sealed, at + encrypted.length)
  }
  return sealed
}

/** The bytes of a file, from which any part can be read. */
export interface ReadableBytes {
  readonly size: number
  /** Returns fewer bytes only at the end. */
  read(offset: number, length: number): Promise<Buffer>
}

/** Thrown if a file was not encrypted with this key under this name, or is not as it was written. */
export class SealBroken extends Error {}

/** Opens an encrypted file. Only the chunks that are read are decrypted, and each is checked; the last one at once. */
export async function openSealed(stored: ReadableBytes, seal: Seal): Promise<ReadableBytes> {
  const size = plainSize(stored.size)
  const header = await stored.read(0, HEADER_BYTES)
  if (size === undefined || header.length < HEADER_BYTES || !header.subarray(0, MARK.length).equals(MARK))
    throw new SealBroken('it is not an encrypted file')
  const key = deriveKey(seal, header.subarray(MARK.length))
  const last = Math.max(1, Math.ceil(size / CHUNK_BYTES)) - 1
  const readChunks = async (from: number, to: number): Promise<Buffer[]> => {
    const bytes = await stored.read(HEADER_BYTES + from * STORED_CHUNK_BYTES, (to - from + 1) * STORED_CHUNK_BYTES)
    return Array.from({ length: to - from + 1 }, (_, at) => {
      const chunk = bytes.subarray(at * STORED_CHUNK_BYTES, (at + 1) * STORED_CHUNK_BYTES)
      return openChunk(chunk, key, nonceOf(from + at, from + at === last))
    })
  }
  // Otherwise a file whose end was cut off could be read up to there.
  await readChunks(last, last)
  return {
    size,
    read: async (offset, length) => {
      const end = Math.min(size, offset + length)
      if (offset >= end) return Buffer.alloc(0)
      const [from, to] = [Math.floor(offset / CHUNK_BYTES), Math.floor((end - 1) / CHUNK_BYTES)]
      const chunks: Buffer[] = []
      for (let at = from; at <= to; at += CHUNKS_AT_ONCE)
        chunks.push(...(await readChunks(at, Math.min(to, at + CHUNKS_AT_ONCE - 1))))
      return Buffer.concat(chunks).subarray(offset - from * CHUNK_BYTES, end - from * CHUNK_BYTES)
    },
  }
}

function openChunk(stored: Buffer, key: Buffer, nonce: Buffer): Buffer {
  if (stored.length < TAG_BYTES) throw new SealBroken('a part of it is missing')
  const decipher = createDecipheriv(CIPHER, key, nonce)
  decipher.setAuthTag(stored.subarray(-TAG_BYTES))
  try {
    const content = decipher.update(stored.subarray(0, -TAG_BYTES))
    decipher.final()
    return content
  } catch (cause) {
    throw new SealBroken('it was changed, or encrypted with another key', { cause })
  }
}

const deriveKey = ({ key, name }: Seal, salt: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, `sallyport result ${name}`, 32))

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(index, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}
