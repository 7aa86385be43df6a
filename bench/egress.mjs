// What the egress proxy of a sandbox costs: node bench/egress.mjs, after `npm run build`. Prints, and asserts nothing.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseHostRule } from '../packages/core/dist/index.js'
import { openEgressProxy } from '../packages/gateway/dist/sandbox/egress/egress.js'

const TUNNELS = [0, 1, 10, 100]
const ROUNDS = 30
const REQUESTS = 300
const MEGABYTES = 400
const PROXY_ROLE = '--proxy'

/** @typedef {import('../packages/core/dist/index.js').EgressPolicy} EgressPolicy */

/** The process of the proxy, which carries nothing else. */
function runProxy() {
  let proxy
  const actions = {
    async open({ socketPath, port }) {
      await proxy?.close()
      /** @type {EgressPolicy} */
      const policy = { mode: 'FULL', allow: [parseHostRule(`127.0.0.1:${port}`)] }
      proxy = await openEgressProxy({ socketPath, policy, onDecision() {} })
    },
    narrow() {
      const before = performance.now()
      const { cut } = proxy.setPolicy({ mode: 'NONE', allow: [] })
      return { cut, ms: performance.now() - before }
    },
  }
  process.on('message', async ({ action, options }) => process.send({ result: await actions[action](options) }))
}

function openOrigin(serve) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  return once(server, 'listening').then(() => /** @type {import('node:net').AddressInfo} */ (server.address()).port)
}

async function openTunnel(socketPath, port) {
  const socket = connect(socketPath)
  socket.on('error', () => {})
  socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  await once(socket, 'data')
  return socket
}

async function openDirect(port) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function timeRequests(open) {
  const times = { connect: [], exchange: [] }
  for (let round = 0; round < REQUESTS; round++) {
    const start = performance.now()
    const socket = await open()
    const connected = performance.now()
    for (let exchange = 0; exchange < 5; exchange++) {
      const before = performance.now()
      socket.write('x')
      await once(socket, 'data')
      // The first one carries what is judged.
      if (exchange > 0) times.exchange.push(performance.now() - before)
    }
    times.connect.push(connected - start)
    socket.destroy()
  }
  return times
}

async function timeBytes(open) {
  const socket = await open()
  const block = Buffer.alloc(256 * 1024)
  let left = MEGABYTES * 1024 * 1024
  const start = performance.now()
  while (left > 0) {
    left -= block.length
    if (!socket.write(block)) await once(socket, 'drain')
  }
  socket.end()
  await once(socket.resume(), 'close')
  return MEGABYTES / ((performance.now() - start) / 1000)
}

async function timeSwitch(count, { socketPath, port, ask }) {
  await ask('open', { socketPath, port })
  const tunnels = await Promise.all(Array.from({ length: count }, () => openTunnel(socketPath, port)))
  for (const tunnel of tunnels) tunnel.write('x')
  await Promise.all(tunnels.map((tunnel) => once(tunnel, 'data')))
  const { cut, ms } = await ask('narrow')
  if (cut !== count) throw new Error(`${cut} of ${count} tunnels were cut`)
  return ms
}

const quantile = (times, share) => [...times].sort((one, other) => one - other)[Math.floor(times.length * share)]
const describe = (times) =>
  ['min', 'p50', 'p99'].map((name, at) => `${name} ${quantile(times, [0, 0.5, 0.99][at]).toFixed(3)}`).join('  ')

async function measure() {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-egress-'))
  const socketPath = join(folder, 'egress.sock')
  const child = fork(fileURLToPath(import.meta.url), [PROXY_ROLE])
  const ask = async (action, options) => {
    child.send({ action, options })
    return (await once(child, 'message'))[0].result
  }
  try {
    const echo = await openOrigin((socket) => socket.pipe(socket))
    const sink = await openOrigin((socket) => socket.resume())
    await ask('open', { socketPath, port: echo })
    for (const [name, open] of [
      ['direct', () => openDirect(echo)],
      ['proxy', () => openTunnel(socketPath, echo)],
    ]) {
      const { connect: connecting, exchange } = await timeRequests(open)
      console.log(`${name}: ms to connect ${describe(connecting)}; for an exchange ${describe(exchange)}`)
    }
    await ask('open', { socketPath, port: sink })
    console.log(`direct: ${(await timeBytes(() => openDirect(sink))).toFixed(0)} MiB/s outward`)
    console.log(`proxy: ${(await timeBytes(() => openTunnel(socketPath, sink))).toFixed(0)} MiB/s outward`)
    for (const count of TUNNELS) {
      const switches = []
      for (let round = 0; round < ROUNDS; round++)
        switches.push(await timeSwitch(count, { socketPath, port: echo, ask }))
      console.log(`setPolicy with ${count} open tunnels: ms ${describe(switches)}`)
    }
  } finally {
    child.kill()
    rmSync(folder, { recursive: true })
  }
}

if (process.argv[2] === PROXY_ROLE) runProxy()
else {
  await measure()
  process.exit()
}
