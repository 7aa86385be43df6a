import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpClient } from '../load/http-client.mjs'
import { resultOf } from '../load/reply.mjs'
import { StdioClient } from '../load/stdio-client.mjs'
import { commandOf, cpuOf, isAlive, processesOf } from '../machine/process-tree.mjs'
import { PROBE, PROBE_FOLDER } from '../probe/ask-probe.mjs'
import { adopt } from './bench-world.mjs'

const START_TIMEOUT_MS = 60_000
const RETRY_PAUSE = 10
const LIST_TIMEOUT_MS = 10_000
const STOP_TIMEOUT_MS = 15_000

/** One gateway that runs, in front of an upstream. `bench` is what all share: `{upstream, folder}`. */
class Instance {
  gateway
  folder
  pid
  #bench
  #launch
  #toolCount
  #clients = []

  constructor(bench, gateway, { launch, folder, toolCount, pid }) {
    this.gateway = gateway
    this.folder = folder
    this.pid = pid
    this.#bench = bench
    this.#launch = launch
    this.#toolCount = toolCount
  }

  /** A client of this gateway that has listed all the tools, and knows their names here. */
  async connect(era) {
    const until = performance.now() + START_TIMEOUT_MS
    for (let client = this.createClient(era); ; client = await this.#tryAgain(client, era)) {
      try {
        return Object.assign(client, await withinTime(this.#findTools(client), LIST_TIMEOUT_MS))
      } catch (cause) {
        if (performance.now() < until && isAlive(this.pid)) continue
        throw new Error(`it never got ready: ${cause.message}`, { cause })
      }
    }
  }

  createClient(era) {
    const client = this.gateway.front === 'http' ? this.#httpClient(era) : this.#stdioClient(era)
    this.#clients.push(client)
    return client
  }

  /** Measures CPU per call from now on: of the gateway's own processes, without the servers behind it. */
  startMeter() {
    const { own } = processesOf(this.pid)
    const before = cpuOf(own)
    return { own, cpuPerCall: (calls) => (cpuOf(own) - before) / calls / 1_000 }
  }

  async close() {
    // A window that has ended no longer shows which gateway it started.
    const all = this.pid === undefined || this.pid === this.#bench.upstream.pid ? [] : allOf(this.pid)
    for (const client of this.#clients) client.close()
    await endProcesses(all)
  }

  /** A port may not be open yet. A window is kept: the next one would join the gateway of the first, whose parent is gone. */
  async #tryAgain(client, era) {
    await delay(RETRY_PAUSE)
    if (this.gateway.front === 'stdio') return client
    client.close()
    return this.createClient(era)
  }

  #httpClient(era) {
    const { url, tokenFile } = this.#launch
    const known = tokenFile !== undefined && existsSync(tokenFile)
    const headers = known ? { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` } : {}
    return new HttpClient(url, era, headers)
  }

  #stdioClient(era) {
    const { command, env } = this.#launch
    const client = new StdioClient(command, era, { env, cwd: this.folder })
    this.pid = adopt(this.#bench, client.process)
    return client
  }

  async #findTools(client) {
    await client.open()
    const { tools } = resultOf(await client.call('tools/list'))
    // A gateway may rename tools and add its own: the upstream's are known by how their names end.
    const names = tools.map(({ name }) => name).filter((name) => /(^|[_./-])(echo|blob|fill_\d+)$/.test(name))
    if (names.length < this.#toolCount) throw new Error(`it lists ${names.length} tools of ${this.#toolCount}`)
    const nameOf = (tool) => names.find((name) => name.endsWith(tool))
    return { echo: nameOf('echo'), blob: nameOf('blob') }
  }
}

/** Starts a gateway. A window starts with its first client. */
export async function openInstance(bench, gateway, options = {}) {
  const { toolCount = 3, upstreamCount = 1, folder = mkdtempSync(join(bench.folder, `${gateway.name}-`)) } = options
  const upstreamCommand = bench.upstream.command(toolCount)
  const upstreamUrl = bench.upstream.url(toolCount)
  if (gateway.kind === 'direct') {
    const launch = { url: upstreamUrl, command: upstreamCommand }
    return new Instance(bench, gateway, { launch, folder, toolCount, pid: bench.upstream.pid })
  }
  const place = { folder, port: String(await freePort()), upstreamUrl, upstreamCommand, upstreamCount }
  const launch = gateway.launch(place)
  const preloads = [launch.preload, options.look === 'inside' ? PROBE : undefined].filter((file) => file !== undefined)
  const env = { [PROBE_FOLDER]: folder, NODE_OPTIONS: preloads.map((file) => `--import=${file}`).join(' ') }
  if (launch.config !== undefined) writeFileSync(join(folder, 'config.yaml'), JSON.stringify(launch.config))
  const pid = gateway.front === 'http' ? start(bench, { ...launch, env }, folder) : undefined
  return new Instance(bench, gateway, { launch: { ...launch, env }, folder, toolCount: toolCount * upstreamCount, pid })
}

function start(bench, { command, env }, folder) {
  const [program, ...args] = command
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env }, stdio: 'ignore' })
  return adopt(bench, child)
}

/** Our gateway ends its servers itself; others may not. */
async function endProcesses(pids) {
  const ours = pids.filter((pid) => commandOf(pid).includes('/dist/cli/main.js'))
  signal(ours.length > 0 ? ours : pids, 'SIGTERM')
  await gone(pids)
}

export const endGateway = (pid) => endProcesses(allOf(pid))

async function gone(pids) {
  for (const until = performance.now() + STOP_TIMEOUT_MS; performance.now() < until && pids.some(isAlive); )
    await delay(25)
  signal(pids, 'SIGKILL')
}

function allOf(pid) {
  const { own, upstream } = processesOf(pid)
  return [...own, ...upstream]
}

function signal(pids, name) {
  for (const pid of pids.filter(isAlive)) process.kill(pid, name)
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      server.close(() => resolve(port))
    })
  })
}

async function withinTime(work, ms) {
  const timer = new AbortController()
  const late = delay(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer within ${ms / 1_000} s`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
    work.catch(() => {})
  }
}
