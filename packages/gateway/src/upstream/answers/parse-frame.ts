import type { JsonObject } from '@sallyport/core'
import type { Frame } from '../transport.ts'

/** The message in a frame, which was proven to be one while it arrived. Costs as much as the message is long: most pass as bytes. */
export const parseFrame = ({ parts }: Frame): JsonObject => JSON.parse(Buffer.concat(parts).toString('utf8'))
