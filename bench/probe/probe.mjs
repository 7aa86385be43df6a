// Loaded into a gateway that is inspected (`node --import`): answers commands on a socket named after the process.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { longestTurn, watchLoop } from './loop-watch.mjs'
import { startProfile, stopProfile } from './profiler.mjs'

const COMMANDS = { watchLoop, longestTurn, memory, startProfile, stopProfile }

/** What is in use once the garbage is gone. */
function memory() {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return { used: heapUsed + external }
}

const server = createServer(async (socket) => {
  socket.unref().on('error', () => {})
  const [line] = await once(socket, 'data')
  const { command, argument } = JSON.parse(String(line))
  socket.end(JSON.stringify((await COMMANDS[command](argument)) ?? null))
})
server.listen(join(process.env.SALLYPORT_BENCH_PROBE, `${process.pid}.sock`)).unref()
