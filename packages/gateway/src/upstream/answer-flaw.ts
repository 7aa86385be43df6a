import { excerpt, isJsonObject } from '@sallyport/core'
import type { Frame } from './transport.ts'

const OPEN_OBJECT = 0x7b
const TOLD_LENGTH = 200

/** Why an answer is none that a client could read, who would go on waiting; undefined when it is one. */
export function answerFlaw({ envelope: { result, error }, parts }: Frame): string | undefined {
  if (result)
    return byteAt(parts, result.start) === OPEN_OBJECT
      ? undefined
      : 'The server answered with a result that is no object.'
  const text = Buffer.concat(parts).toString('utf8', error?.start, error?.end)
  const { code, message } = readObject(text)
  if (Number.isInteger(code) && typeof message === 'string') return undefined
  return `The server answered with an error without a code or a message: ${excerpt(text, TOLD_LENGTH)}`
}

function readObject(text: string): { readonly code?: unknown; readonly message?: unknown } {
  const value: unknown = JSON.parse(text)
  return isJsonObject(value) ? value : {}
}

function byteAt(parts: readonly Buffer[], at: number): number | undefined {
  let offset = at
  for (const part of parts) {
    if (offset < part.length) return part[offset]
    offset -= part.length
  }
  return undefined
}
