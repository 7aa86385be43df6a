// What a sandbox costs: node bench/sandboxes.mjs, after `npm run build`. Prints, and asserts nothing. Containers are
// measured if an engine answers (DOCKER_HOST).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import {
  buildSandboxEnvironment,
  createBubblewrapDriver,
  createProtection,
  GatewayContainers,
  openSandbox,
  planProgram,
} from '../packages/gateway/dist/sandbox/sandbox.js'

const ROUNDS = 9
const CALLS = 200
const SERVER = fileURLToPath(
  new URL('../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)
const LIMITS = { memory: 1024 ** 3, processes: 1_024, temporaryFiles: 1024 ** 3 }

const { env: environment } = process
const state = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))
const containers = new GatewayContainers({
  ...{ state, run: `bench-${process.pid}`, environment },
  onFirstUse: () => {},
  onWarning: console.error,
})
const drivers = [undefined, createBubblewrapDriver({ environment }), containers.docker, containers.podman]

/** Times of one start, in milliseconds. */
async function startOnce(driver) {
  const before = performance.now()
  const { child, admit, close } = driver === undefined ? startPlain() : await startInside(driver)
  await admit?.()
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (id, method, params = {}) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    for (;;) {
      const { value } = await lines.next()
      if (JSON.parse(value).id === id) return
    }
  }
  const clientInfo = { name: 'bench', version: '1' }
  await ask(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const ready = performance.now() - before
  const echo = (id) => ask(id, 'tools/call', { name: 'echo', arguments: { message: 'x' } })
  await echo(1)
  const first = performance.now() - before
  const times = []
  for (let id = 2; id < CALLS; id++) {
    const at = performance.now()
    await echo(id)
    times.push(performance.now() - at)
  }
  const exited = once(child, 'exit')
  const stopping = performance.now()
  child.stdin.end()
  child.kill('SIGTERM')
  await exited
  await close?.()
  return { ready, first, call: middle(times), stop: performance.now() - stopping }
}

function startPlain() {
  return { child: spawn(process.execPath, [SERVER], { stdio: ['pipe', 'pipe', 'ignore'] }) }
}

async function startInside(driver) {
  const protection = createProtection({ userHome: environment.HOME ?? '/', own: [] })
  /** @type {[string, string]} */
  const command = [process.execPath, SERVER]
  const { notes: _, ...plan } = planProgram({ command, cwd: '/', environment, mounts: [], protection })
  const sandbox = await openSandbox({
    ...{ driver, server: 'bench', policy: { mode: 'NONE', allow: [] }, onDecision: () => {} },
    spec: { ...plan, env: buildSandboxEnvironment(environment, {}), limits: LIMITS },
  })
  const { command: program, args, env, descriptors } = sandbox.launch
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore', ...descriptors] })
  return { child, admit: () => sandbox.admit(child), close: () => sandbox.close() }
}

const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

const usable = []
for (const driver of drivers) {
  const result = await driver?.probe()
  if (result?.ok === false) console.log(`${driver?.name} is left out: ${result.reason}`)
  else usable.push(driver)
}
// They take turns, so that what slows the machine down slows all of them.
const rounds = []
for (let round = 0; round < ROUNDS; round++)
  for (const driver of usable) rounds.push({ name: driver?.name ?? 'no sandbox', ...(await startOnce(driver)) })
console.log(`server-everything, ${ROUNDS} rounds, milliseconds: least / middle`)
for (const name of new Set(rounds.map((one) => one.name))) {
  const own = rounds.filter((one) => one.name === name)
  const show = (key, digits = 0) => {
    const values = own.map((one) => one[key])
    return `${Math.min(...values).toFixed(digits)} / ${middle(values).toFixed(digits)}`
  }
  const parts = [
    `ready ${show('ready')}`,
    `first call ${show('first')}`,
    `call ${show('call', 2)}`,
    `end ${show('stop')}`,
  ]
  console.log(`${name.padEnd(12)} ${parts.join(', ')}`)
}
rmSync(state, { recursive: true })
