import { isDeepStrictEqual } from 'node:util'
import type { ServerConfig } from './settings.ts'

/** Would both run the same? Where they stand in the file does not matter. */
export function sameServer(a: ServerConfig, b: ServerConfig): boolean {
  return isDeepStrictEqual({ ...a, place: undefined }, { ...b, place: undefined })
}
