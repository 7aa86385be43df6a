import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { readServerConfig, serveHttp, serveStdio } from '@sallyport/kit'
import { createServer } from './create-server.ts'
import { serveSocket } from './serve-socket.ts'

/** `server.js [entry of config.yaml] [--stdio]`, started from any folder. */
const [entry = 'my-server'] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const configPath = fileURLToPath(new URL('../../config.yaml', import.meta.url))
const { name, options, listen } = await readServerConfig(entry, { configPath })
const server = createServer(name, options)
const socket = process.env.LISTEN_SOCKET

if (process.argv.includes('--stdio')) {
  await serveStdio(server)
} else {
  const serving =
    socket === undefined
      ? await serveHttp(server, listen)
      : await serveSocket(server, socket, { allowedHosts: [], ...listen })
  console.error(`${name} serves ${serving.url}`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await serving.close()
}
