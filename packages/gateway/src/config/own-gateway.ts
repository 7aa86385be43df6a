import { basename } from 'node:path'
import type { JsonObject } from '@sallyport/core'

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i

/** Whether an entry of an agent leads to this very gateway, which must not become a server behind itself. */
export function isOwnGateway(entry: JsonObject, port: number): boolean {
  const { command, args, url, httpUrl, http_url } = entry
  const address = url ?? httpUrl ?? http_url
  if (typeof address === 'string') return isOwnUrl(address, port)
  const words = [command, args].flat().filter((word): word is string => typeof word === 'string')
  const names = words.map((word) => basename(word.replaceAll('\\', '/')))
  const isOurs = names.some((word) => /^sallyport(?:@.+|\.js|\.cmd|\.exe)?$/.test(word)) || words.some(isBuiltCommand)
  return isOurs && names.includes('serve')
}

const isBuiltCommand = (word: string): boolean => /gateway[/\\]dist[/\\]cli[/\\]main\.js$/.test(word)

function isOwnUrl(text: string, port: number): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return LOOPBACK.test(url.hostname) && Number(url.port || 80) === port && /^\/mcp(?:\/|$)/.test(url.pathname)
}
