import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createHttpHandler, type HttpHandlerOptions, type HttpServing, type McpServer } from '@sallyport/kit'

/** Serves HTTP at a unix socket, which needs no network. */
export async function serveSocket(server: McpServer, path: string, options: HttpHandlerOptions): Promise<HttpServing> {
  const handler = createHttpHandler(server, options)
  const listener = createServer(handler.node)
  // One that was killed has left its socket.
  await rm(path, { force: true })
  await new Promise<void>((resolve, reject) => listener.once('error', reject).listen(path, resolve))
  const close = async (): Promise<void> => {
    handler.close()
    listener.closeAllConnections()
    await new Promise((resolve) => listener.close(resolve))
  }
  return { url: path, close }
}
