// What an open page costs calls, and whether the page stays usable meanwhile: node bench/live-page.mjs, after
// `npm run build`. Prints, and asserts nothing. Needs the Chromium that `npx vitest run tests/web/shell.test.ts` unpacks.
//   node bench/live-page.mjs [seconds of the last part, 60] [rounds, 5]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { HttpClient } from './load/http-client.mjs'
import { prepareRequest } from './load/request.mjs'
import { cpuOf } from './machine/process-tree.mjs'
import { percentile } from './report/figures.mjs'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const MAIN = path('../packages/gateway/dist/cli/main.js')
const SERVER = path('servers/upstream.mjs')
const CHROMIUM = path('../node_modules/.cache/chromium/chromium')
const SECONDS = Number(process.argv[2] ?? 60)
const ROUNDS = Number(process.argv[3] ?? 5)
const CALLS_A_SECOND = 1_000
const TICK_MS = 10
const PART_MS = 5_000

async function openGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-page-'))
  const server = { command: process.execPath, args: [SERVER, 'stdio', '3'] }
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify({ mcp_servers: { up: server } }))
  const state = join(folder, 'state')
  const flags = ['--home', folder, '--state', state, '--port', '0', '--json', '--no-auth']
  const child = spawn(process.execPath, [MAIN, 'serve', ...flags], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const mcp = JSON.parse(line).url
  const authorization = `Bearer ${readFileSync(join(state, 'tokens/operator'), 'utf8').trim()}`
  return {
    ...{ mcp, url: mcp.replace(/\/mcp$/, ''), pid: child.pid, authorization },
    close: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Sends calls at a steady rate. Resolves to their latencies in milliseconds; fails with the first that is not answered. */
async function sendCalls(client, request, ms) {
  const latencies = []
  const pending = new Set()
  const from = performance.now()
  let sent = 0
  for (let now = from; now < from + ms; now = performance.now()) {
    for (const due = ((now - from) / 1_000) * CALLS_A_SECOND; sent < due; sent++) {
      const at = performance.now()
      const call = client.send(request).then((reply) => {
        if (reply.status !== 200) throw new Error(`HTTP ${reply.status}: ${reply.text().slice(0, 300)}`)
        latencies.push(performance.now() - at)
        pending.delete(call)
      })
      pending.add(call)
    }
    await delay(TICK_MS)
  }
  await Promise.all(pending)
  return latencies
}

function openStream({ url, authorization }) {
  const opened = get(`${url}/api/stream`, { headers: { authorization }, agent: false }, (response) => response.resume())
  opened.on('error', () => {})
  return () => opened.destroy()
}

async function openPage(browser, { url, authorization }) {
  const minted = await fetch(`${url}/api/login-links`, { method: 'POST', headers: { authorization } })
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const login = /** @type {{ path: string }} */ (await minted.json())
  await page.goto(url + login.path)
  return page
}

/** Each state of the page, for some seconds, in turns: other work on the machine then disturbs all of them alike. */
async function measureCost(gateway, call, page) {
  const states = {
    'nobody looks': async () => async () => {},
    'one stream': async () => openStream(gateway),
    'ten streams': async () => {
      const streams = Array.from({ length: 10 }, () => openStream(gateway))
      return () => streams.map((close) => close())
    },
    'the screen Live': async () => {
      await page.goto(`${gateway.url}/live`)
      // The latest calls are read once, when it is opened.
      await page.getByText('following').waitFor()
      return () => page.goto('about:blank')
    },
  }
  const costs = Object.fromEntries(Object.keys(states).map((name) => [name, []]))
  await page.goto('about:blank')
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, open] of Object.entries(states)) {
      const close = await open()
      await call(2_000)
      const before = cpuOf([gateway.pid])
      const latencies = await call(PART_MS)
      costs[name].push((cpuOf([gateway.pid]) - before) / latencies.length / 1_000)
      await close()
    }
  return costs
}

const OBSERVE = `
  window.seen = { tasks: [], delays: [] }
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask', buffered: true })
  addEventListener('keydown', (event) => seen.delays.push(performance.now() - event.timeStamp), true)
`

/** Types and clicks on the page during some work, and reads what the browser saw of it. */
async function measurePage(gateway, page, work) {
  await page.goto(`${gateway.url}/live`)
  await page.getByText('following').waitFor()
  await page.evaluate(OBSERVE)
  let isOver = false
  const working = work().finally(() => {
    isOver = true
  })
  const search = page.getByRole('searchbox', { name: 'Search calls' })
  for (let turn = 0; !isOver; turn++) {
    await search.press(turn % 20 < 10 ? 'e' : 'Backspace')
    if (turn % 50 === 49) await page.getByRole('button', { name: 'allow' }).click()
    await delay(100)
  }
  await working
  return page.evaluate('seen')
}

function report(what, { tasks, delays }) {
  const sorted = delays.sort((a, b) => a - b)
  const longest = tasks.length === 0 ? '' : `, the longest ${Math.max(...tasks).toFixed(0)} ms`
  console.log(`Live ${what}: ${tasks.length} tasks over 50 ms${longest}`)
  const [half, most] = [percentile(sorted, 0.5), percentile(sorted, 0.95)].map((ms) => ms.toFixed(1))
  console.log(
    `  input delay of ${sorted.length} keys: p50 ${half} ms, p95 ${most} ms, at most ${sorted.at(-1)?.toFixed(1)} ms`,
  )
}

const median = (values) =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  )

const gateway = await openGateway()
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--headless=new', '--no-sandbox'] })
try {
  const client = new HttpClient(gateway.mcp, 'modern')
  const request = prepareRequest('modern', 'tools/call', { name: 'up_echo', arguments: { text: 'hello' } })
  const call = (ms) => sendCalls(client, request, ms)
  await call(5_000)
  const page = await openPage(browser, gateway)
  console.log(`load ${loadavg()[0].toFixed(1)}; ${CALLS_A_SECOND} calls a second, ${ROUNDS} rounds`)
  const costs = await measureCost(gateway, call, page)
  const none = median(costs['nobody looks'])
  for (const [name, values] of Object.entries(costs)) {
    const more = median(values.map((value, round) => value - costs['nobody looks'][round]))
    console.log(
      `${name.padEnd(16)} ${median(values).toFixed(1)} µs of CPU a call, ${more.toFixed(1)} more (${((more / none) * 100).toFixed(1)} %)`,
    )
  }
  // What else runs on the machine makes tasks long, too: so the same without calls.
  report('without calls', await measurePage(gateway, page, () => delay(SECONDS * 250)))
  report('with 1,000 calls a second', await measurePage(gateway, page, () => call(SECONDS * 1_000)))
  client.close()
} finally {
  await browser.close()
  await gateway.close()
}
