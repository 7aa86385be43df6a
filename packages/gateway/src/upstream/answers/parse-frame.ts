import { type JsonObject, parseExactJson } from '@sallyport/core'
import type { Frame } from '../transport.ts'

/**
 * Parses the message in a frame, which was validated while it arrived. The cost is linear in its length: most messages
 * are never parsed.
 */
export const parseFrame = ({ parts }: Frame): JsonObject => JSON.parse(Buffer.concat(parts).toString('utf8'))

/** The same, and the text of numbers is remembered for printing. */
export const parseExactFrame = ({ parts }: Frame): JsonObject =>
  parseExactJson(Buffer.concat(parts).toString('utf8')) as JsonObject
