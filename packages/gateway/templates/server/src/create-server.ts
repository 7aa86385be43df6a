import { createMcpServer, type McpServer, type ServerOptions } from '@sallyport/kit'
import { offerCountWords } from './tools/count-words.ts'
import { offerKeepNote } from './tools/keep-note.ts'

/** The server with all its tools, for any transport. */
export function createServer(name: string, options: ServerOptions = {}): McpServer {
  const server = createMcpServer(name, { version: '0.1.0', ...options })
  offerCountWords(server)
  offerKeepNote(server)
  return server
}
