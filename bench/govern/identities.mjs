// What a call costs more if its server is told who calls, and if its session has a label. In one process, without
// sockets: decided, recorded, encoded with its token, answered from prepared bytes, and searched like any other.
//   node identities.mjs FOLDER ROUNDS CALLS   prints {case: {cpu, more: […]}} in microseconds of CPU
import { CALLER_META, Cancellation } from '../../packages/core/dist/index.js'
import { standingPrincipal } from '../../packages/gateway/dist/sessions/sessions.js'
import { FrameReader } from '../../packages/gateway/dist/upstream/answers/frame-reader.js'
import { usePermit } from '../../packages/gateway/dist/upstream/permit.js'
import { openConnection } from '../../packages/gateway/dist/upstream/upstream.js'
import { PROTOCOL_VERSION } from '../load/request.mjs'
import { median } from '../report/figures.mjs'
import { openGateway } from './open-governed.mjs'

const [folder, rounds, calls] = process.argv.slice(2)
const HOST = '127.0.0.1:9'
const SERVERS = {
  plain: { url: `http://${HOST}/plain` },
  told: { url: `http://${HOST}/told`, identity: 'forward' },
}
const CASES = {
  'neither identity nor label': { server: 'plain' },
  'identity: forward': { server: 'told' },
  'and an INTERNAL session': { server: 'told', label: 'INTERNAL' },
  'and a private session, allowed host': { server: 'told', label: 'CONFIDENTIAL' },
}
const TEXT = 'x'.repeat(1_000)

/** The other end of a connection, in this process. */
class EchoTransport {
  #reader = new FrameReader(64_000_000)
  #events
  audience

  constructor(server, isTold) {
    this.audience = isTold ? { server, keyId: undefined } : undefined
  }

  async open(events) {
    this.#events = events
  }

  request(request) {
    if (!usePermit(request.call.permit)) throw new Error('a permit is stale')
    const text = request.currentText?.() ?? request.text
    if (text.includes('"tools/call"') && text.includes(CALLER_META) !== (this.audience !== undefined))
      throw new Error('the token is missing, or must not be there')
    const result = RESULTS[request.call.method]
    // It never ends what the gateway listens to.
    if (result === undefined) return
    queueMicrotask(() => this.#answer(`{"jsonrpc":"2.0","id":${request.id},"result":${result}}`))
  }

  #answer(text) {
    this.#reader.feed(Buffer.from(text))
    const outcome = this.#reader.finish()
    if (outcome.kind !== 'frame') throw new Error(outcome.kind)
    this.#events.onFrame(outcome.frame, undefined)
  }

  send() {}
  abandon() {
    return true
  }
  setProtocolVersion() {}
  async close() {}
}

const INFO = { name: 'echo', version: '1' }
const CACHED = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'public' }
const RESULTS = {
  'server/discover': JSON.stringify({
    ...CACHED,
    supportedVersions: [PROTOCOL_VERSION.modern],
    capabilities: { tools: {}, experimental: { [CALLER_META]: {} } },
    serverInfo: INFO,
  }),
  'tools/list': JSON.stringify({ ...CACHED, tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': JSON.stringify({ resultType: 'complete', content: [{ type: 'text', text: TEXT }] }),
}

async function connect(gateway) {
  const context = {
    clientInfo: INFO,
    ...{ environment: {}, watchdog: undefined, runMark: undefined, lastKnown: () => undefined },
    now: () => Date.now(),
    random: () => Math.random(),
  }
  for (const config of gateway.settings.servers) {
    const createTransport = () => new EchoTransport(config.id, config.identity === 'forward')
    gateway.fleet.add(config.id, (listener) => openConnection({ config, listener, createTransport }, context))
  }
  for (const { id } of gateway.settings.servers)
    while (gateway.listings.toolOf({ server: id, tool: 'echo' }) === undefined)
      await new Promise((resolve) => setImmediate(resolve))
}

/**
 * Each case has a session of its own.
 * @param {any} gateway
 * @param {string} name
 * @param {{server: string, label?: any}} given
 */
async function prepare(gateway, name, { server, label }) {
  const principal = { ...standingPrincipal('agent'), session: name }
  const holder = await gateway.governance.labels.load(principal)
  const datasets = [{ name: 'bench', sensitivity: label }]
  if (label !== undefined) await gateway.governance.labels.raise(holder, { datasets, reason: 'the bench' })
  const call = {
    ...{ id: 'bench', traceId: '0'.repeat(32), principal, method: 'tools/call' },
    offer: gateway.listings.toolOf({ server, tool: 'echo' }),
    params: { name: 'echo', arguments: { text: 'a text' } },
    cancellation: new Cancellation(),
  }
  return async () => {
    const answer = await gateway.pipeline.run(call)
    if (answer.kind !== 'frame') throw new Error(`${name}: ${answer.error.message}`)
  }
}

/** CPU of each call, in microseconds. */
async function burst(run) {
  const from = process.cpuUsage()
  for (let done = 0; done < Number(calls); done++) await run()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / Number(calls)
}

const gateway = await openGateway(folder, {
  config: { mcp_servers: SERVERS, sandbox: { proxied: { allow: [HOST] } } },
  tools: 'tools:\n  mcp__*__echo: {risk_level: low, requires_approval: false}\n',
  environment: { SALLYPORT_KEYS: `${folder}/keys` },
})
await gateway.publishKeys()
await connect(gateway)
const found = Object.fromEntries(Object.keys(CASES).map((name) => [name, []]))
const runs = []
for (const [name, one] of Object.entries(CASES)) runs.push([name, await prepare(gateway, name, one)])
for (let round = -3; round < Number(rounds); round++) {
  // In another order each time: what slows a round down slows all of them down.
  const turn = [...runs.slice(round & 3), ...runs.slice(0, round & 3)]
  for (const [name, run] of turn) {
    const cpu = await burst(run)
    // The first rounds warm it up.
    if (round >= 0) found[name].push(cpu)
  }
}
const [plain] = Object.values(found)
const printed = Object.entries(found).map(([name, all]) => [
  name,
  { cpu: median(all), more: median(all.map((cpu, round) => cpu - plain[round])) },
])
console.log(JSON.stringify(Object.fromEntries(printed)))
await gateway.close('the bench is done')
