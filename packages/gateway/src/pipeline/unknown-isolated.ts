import { didYouMean, quoteText } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'

/** Which tools that an entry wants isolated its server does not have (ISO-1); nothing where it has all of them. */
export function unknownIsolated(
  { id, isolatedTools, place }: Pick<ServerConfig, 'id' | 'isolatedTools' | 'place'>,
  tools: readonly string[],
): string | undefined {
  const known = new Set(tools)
  const unknown = isolatedTools.filter((name) => !known.has(name))
  if (unknown.length === 0) return undefined
  const named = unknown.map((name) => `${quoteText(name, 60)}.${didYouMean(name, tools)}`)
  return `isolatedTools of ${id} (${place.file}:${place.line}): the server has no tool ${named.join(' And no ')}`
}
