import { isDeepStrictEqual } from 'node:util'
import type { ServerConfig } from '../settings.ts'

/** Would both run the same? Where they stand in the file does not matter, nor what of them may be shown. */
export function isSameServer(a: ServerConfig, b: ServerConfig): boolean {
  return isDeepStrictEqual(toRuntimeConfig(a), toRuntimeConfig(b))
}

const toRuntimeConfig = (config: ServerConfig) => ({
  ...config,
  place: undefined,
  fromVariables: undefined,
  credentials: undefined,
})
