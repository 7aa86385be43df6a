import { z } from '@hono/zod-openapi'
import { isJsonObject } from '@sallyport/core'

/** An object that is passed through unchanged. */
export const looseObject = z
  .custom<Record<string, unknown>>(isJsonObject, 'expected an object')
  .openapi({ type: 'object', additionalProperties: true })
