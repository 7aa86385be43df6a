import { constants, type Stats } from 'node:fs'
import { ToolRetryError } from '../agent-error.ts'
import { MAX_READ_BYTES, openFile } from './open-file.ts'
import type { ChildEntry } from './write-file.ts'

export interface EditableText {
  readonly text: string
  readonly stats: Stats
}

/** Bytes that are no UTF-8 would be destroyed by writing the text back. */
export async function readForEdit({ parent, name }: ChildEntry): Promise<EditableText> {
  const entry = await parent.openChild(name, constants.O_RDONLY)
  try {
    const { size, read } = openFile(entry)
    if (size > MAX_READ_BYTES)
      throw new ToolRetryError(`The file has ${size} bytes; at most ${MAX_READ_BYTES} can be edited.`)
    return { text: decode(await read(0, size)), stats: entry.stats }
  } finally {
    await entry.handle.close()
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new ToolRetryError('The file is not UTF-8 text, so it cannot be edited as text.', { cause })
  }
}
