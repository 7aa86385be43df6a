import { compileNameGlob, didYouMean, quoteText } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'

/** Which names and patterns of `isolatedTools` match no tool of the server (ISO-1); undefined where all of them do. */
export function findUnknownIsolatedTools(
  { id, isolatedTools, place }: Pick<ServerConfig, 'id' | 'isolatedTools' | 'place'>,
  tools: readonly string[],
): string | undefined {
  const unknown = isolatedTools.filter((pattern) => !tools.some(compileNameGlob(pattern)))
  if (unknown.length === 0) return undefined
  const named = unknown.map((name) => `${quoteText(name, 60)}.${didYouMean(name, tools)}`)
  return `isolatedTools of ${id} (${place.file}:${place.line}): the server has no tool ${named.join(' And no ')}`
}
