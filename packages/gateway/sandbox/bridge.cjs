// Runs inside a sandbox if socat is not installed: 127.0.0.1:<port> → the socket of the egress proxy, and
// 127.0.0.1:<listen> → <target>, through that proxy.
//
//   node bridge.cjs <port> <socket> [<listen>=<target>]...
const net = require('node:net')

const [port, socket, ...forwards] = process.argv.slice(2)

listen(port, (client, proxy) => join(client, proxy))
for (const forward of forwards) {
  const at = forward.indexOf('=')
  listen(forward.slice(0, at), (client, proxy) => connect(client, proxy, forward.slice(at + 1)))
}

function listen(number, carry) {
  net
    .createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
      const proxy = net.connect({ path: socket, allowHalfOpen: true })
      client.on('error', () => proxy.destroy())
      proxy.on('error', () => client.destroy())
      carry(client, proxy)
    })
    .listen(Number(number), '127.0.0.1')
}

function join(client, proxy) {
  client.pipe(proxy)
  proxy.pipe(client)
  client.resume()
}

/** The proxy answers with a head, and then carries bytes. */
function connect(client, proxy, target) {
  let head = Buffer.alloc(0)
  const read = (chunk) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    proxy.off('data', read)
    proxy.pause()
    if (!/^HTTP\/1\.[01] 200 /.test(head.toString('latin1'))) {
      client.destroy()
      proxy.destroy()
      return
    }
    client.write(head.subarray(end + 4))
    join(client, proxy)
  }
  proxy.on('data', read)
  proxy.once('end', () => client.end())
  proxy.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
}
