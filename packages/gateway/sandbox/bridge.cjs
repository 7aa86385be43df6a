// Runs inside a sandbox if socat is not installed: 127.0.0.1:<port> → the socket of the egress proxy.
//
//   node bridge.cjs <port> <socket>
const net = require('node:net')

const [port, socket] = process.argv.slice(2)

net
  .createServer({ allowHalfOpen: true }, (client) => {
    const proxy = net.connect({ path: socket, allowHalfOpen: true })
    client.pipe(proxy)
    proxy.pipe(client)
    client.on('error', () => proxy.destroy())
    proxy.on('error', () => client.destroy())
  })
  .listen(Number(port), '127.0.0.1')
