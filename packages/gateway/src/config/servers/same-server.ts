import { isDeepStrictEqual } from 'node:util'
import type { ServerConfig } from '../settings.ts'

/** Whether both run in the same way. Their location in the file and their secrets for masking do not matter. */
export function isSameServer(a: ServerConfig, b: ServerConfig): boolean {
  return isDeepStrictEqual(toRuntimeConfig(a), toRuntimeConfig(b))
}

const toRuntimeConfig = (config: ServerConfig) => ({
  ...config,
  location: undefined,
  fromVariables: undefined,
  credentials: undefined,
})
