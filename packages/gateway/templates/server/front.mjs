// Passes each connection to a port on to a unix socket: `node front.mjs <port> <socket>`
import { connect, createServer } from 'node:net'

const [port, path] = process.argv.slice(2)

createServer({ allowHalfOpen: true }, (client) => {
  const server = connect({ path, allowHalfOpen: true })
  for (const [from, to] of [
    [client, server],
    [server, client],
  ]) {
    from.pipe(to)
    from.on('error', () => to.destroy())
  }
}).listen(Number(port))

process.once('SIGTERM', () => process.exit())
