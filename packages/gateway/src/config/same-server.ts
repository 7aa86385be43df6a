import { isDeepStrictEqual } from 'node:util'
import type { ServerConfig } from './settings.ts'

/** Would both run the same? Where they stand in the file does not matter, nor what of them may be shown. */
export function sameServer(a: ServerConfig, b: ServerConfig): boolean {
  return isDeepStrictEqual(running(a), running(b))
}

const running = (config: ServerConfig) => ({
  ...config,
  place: undefined,
  fromVariables: undefined,
  credentials: undefined,
})
