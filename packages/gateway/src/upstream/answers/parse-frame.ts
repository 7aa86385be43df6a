import type { JsonObject } from '@sallyport/core'
import type { Frame } from '../transport.ts'

/**
 * Parses the message in a frame, which was validated while it arrived. The cost is linear in its length: most messages
 * are never parsed.
 */
export const parseFrame = ({ parts }: Frame): JsonObject => JSON.parse(Buffer.concat(parts).toString('utf8'))
