import { basename } from 'node:path'
import { type Entry, urlOf, wordsOf } from './found-server.ts'

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i

/** Whether an entry of an agent leads to this very gateway, which must not become a server behind itself. */
export function isOwnGateway(entry: Entry, port: number): boolean {
  const url = urlOf(entry)
  if (url !== undefined) return isOwnUrl(url, port)
  const words = wordsOf(entry).map((word) => basename(word.replaceAll('\\', '/')))
  const isOurs = words.some((word) => /^sallyport(?:@.+|\.cmd|\.exe)?$/.test(word)) || isBuiltCommand(entry)
  return isOurs && words.includes('serve')
}

const isBuiltCommand = (entry: Entry): boolean =>
  wordsOf(entry).some((word) => /gateway[/\\]dist[/\\]cli[/\\]main\.js$/.test(word))

function isOwnUrl(text: string, port: number): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return LOOPBACK.test(url.hostname) && Number(url.port || 80) === port && /^\/mcp(?:\/|$)/.test(url.pathname)
}
