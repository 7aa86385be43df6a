// What a sandbox costs a server behind the gateway, and how long it takes to narrow it, or to replace its process if that
// has the network of this machine: node bench/sandbox.mjs, after
// `npm run build`. Prints, and asserts nothing. Needs bubblewrap.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../packages/gateway/dist/cli/main.js', import.meta.url))
const SERVER = fileURLToPath(new URL('../tests/fixtures/leaking-server.mjs', import.meta.url))
const TUNNELS = [0, 1, 10, 100]
const ROUNDS = Number(process.argv[2] ?? 20)
const CALLS = 40

/** Answers each line of a tunnel. */
async function openOrigin() {
  const server = createServer((socket) => socket.on('error', () => {}).on('data', () => socket.write('ok\n')))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** A gateway with the same server in a sandbox and outside of one, with a process for each session. */
async function openGateway(port) {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-sandbox-'))
  const server = { command: process.execPath, args: [SERVER, 'bench'], env: { HTTP_PROXY: 'http://127.0.0.1:9' } }
  const config = {
    governance: { enforce: false },
    sandbox: { proxied: { allow: [`127.0.0.1:${port}`] } },
    mcp_servers: {
      boxed: { command: server.command, args: server.args, sandbox: 'auto' },
      plain: { ...server, per: 'session' },
      host: { ...server, sandbox: 'auto', network: 'host' },
      // Two of them cannot run at the same time.
      locked: {
        command: 'flock',
        args: ['-n', '/workspace/lock', server.command, ...server.args],
        env: server.env,
        sandbox: 'auto',
        network: 'host',
      },
    },
  }
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config))
  const state = join(folder, 'state')
  const child = spawn(process.execPath, [MAIN, 'serve', '--home', folder, '--state', state, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const mcp = JSON.parse(line).url
  const operator = readFileSync(join(state, 'tokens/operator'), 'utf8').trim()
  const send = async (url, token, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
  const api = (path, body) => send(mcp.replace(/mcp$/, `api${path}`), operator, body)
  return {
    api,
    /** A session of its own: resolves to what calls tools in it. */
    openSession: async (session) => {
      const { token } = JSON.parse(await api('/tokens', { agent: 'codex', session }))
      return async (name, args = {}) => {
        const params = { name, arguments: args, _meta: META }
        const text = await sendModern(mcp, token, params)
        if (!text.includes('"content"')) throw new Error(text)
      }
    },
    records: () =>
      readdirSync(join(state, 'logs'))
        .filter((name) => name.endsWith('.jsonl'))
        .flatMap((name) =>
          readFileSync(join(state, 'logs', name), 'utf8')
            .trim()
            .split('\n'),
        )
        .map((text) => JSON.parse(text)),
    close: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function sendModern(mcp, token, params) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': params.name,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  return (await fetch(mcp, { method: 'POST', headers, body })).text()
}

const quantile = (times, share) => [...times].sort((one, other) => one - other)[Math.floor(times.length * share)] ?? NaN
const describe = (times) =>
  ['min', 'p50', 'p90', 'max']
    .map((name, at) => `${name} ${quantile(times, [0, 0.5, 0.9, 0.999][at]).toFixed(2)}`)
    .join('  ')

async function time(work) {
  const before = performance.now()
  await work()
  return performance.now() - before
}

/** In turns, so that what slows the machine down slows both; the ratio of each round counts. */
async function measureCalls(gateway) {
  const times = { boxed: { start: [], call: [] }, plain: { start: [], call: [] } }
  const ratios = { start: [], call: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const session = await gateway.openSession(`calls-${round}`)
    const found = { boxed: {}, plain: {} }
    const order = round % 2 ? ['boxed', 'plain'] : ['plain', 'boxed']
    for (const server of order) found[server].start = await time(() => session(`${server}_menu`))
    const calls = { boxed: [], plain: [] }
    for (let call = 0; call < CALLS; call++)
      for (const server of order) calls[server].push(await time(() => session(`${server}_menu`)))
    for (const server of order) {
      found[server].call = quantile(calls[server], 0.5)
      for (const what of ['start', 'call']) times[server][what].push(found[server][what])
    }
    for (const what of ['start', 'call']) ratios[what].push(found.boxed[what] / found.plain[what])
  }
  for (const what of ['start', 'call']) {
    for (const server of ['plain', 'boxed'])
      console.log(
        `${what === 'start' ? 'first call of a session' : 'each further call'}, ${server}: ms ${describe(times[server][what])}`,
      )
    console.log(`  boxed / plain, by round: ${describe(ratios[what])}`)
  }
}

/** A person raises the label of a session whose server has tunnels open. */
async function measureEscalation(gateway, port) {
  const acknowledged = new Map(TUNNELS.map((count) => [count, []]))
  for (let round = 0; round < ROUNDS; round++)
    for (const count of TUNNELS) {
      const name = `tunnels-${count}-${round}`
      const session = await gateway.openSession(name)
      await session('boxed_menu')
      const place = `127.0.0.1:${port}`
      await Promise.all(Array.from({ length: count }, (_, id) => session('boxed_hold', { session: name, id, place })))
      acknowledged
        .get(count)
        .push(await time(() => gateway.api('/sessions/raise', { session: name, sensitivity: 'SECRET' })))
    }
  const narrowed = gateway.records().filter(({ type }) => type === 'SANDBOX_NARROWED')
  for (const count of TUNNELS) {
    const switches = narrowed.filter(({ cut }) => cut === count).map(({ took_us }) => took_us / 1_000)
    console.log(
      `SECRET with ${count} open tunnels: ms for the switch ${describe(switches)} (${switches.length} rounds)`,
    )
    console.log(`  until the operator has the answer, with the label on disk: ${describe(acknowledged.get(count))}`)
  }
}

/** A process with the network of this machine has to end, and another one has to start. */
async function measureReplacement(gateway) {
  for (const [server, what] of [
    ['host', 'the next process starts beside it'],
    ['locked', 'the next process has to wait for its end'],
  ]) {
    const [acknowledged, answered] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      const name = `${server}-${round}`
      const session = await gateway.openSession(name)
      await session(`${server}_menu`)
      const raisedAt = performance.now()
      await gateway.api('/sessions/raise', { session: name, sensitivity: 'SECRET' })
      acknowledged.push(performance.now() - raisedAt)
      await session(`${server}_menu`)
      answered.push(performance.now() - raisedAt)
    }
    const narrowed = gateway
      .records()
      .filter(({ type, server: of, ended }) => type === 'SANDBOX_NARROWED' && ended && of === server)
    const deaths = narrowed.map(({ took_us }) => took_us / 1_000)
    console.log(
      `SECRET with network: host, ${what}: ms until the old one is dead ${describe(deaths)} (${deaths.length} rounds)`,
    )
    console.log(`  until the operator has the answer: ${describe(acknowledged)}`)
    console.log(`  until a call is answered by the new one: ${describe(answered)}`)
  }
}

console.log(
  `load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}, ${ROUNDS} rounds`,
)
const origin = await openOrigin()
/** @type {any} */
const { port } = origin.address()
const gateway = await openGateway(port)
try {
  await measureCalls(gateway)
  await measureEscalation(gateway, port)
  await measureReplacement(gateway)
} finally {
  await gateway.close()
  origin.close()
}
console.log(
  `load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`,
)
process.exit()
