/**
 * Compares what clients of other SDKs see of servers of other SDKs, directly and through the gateway.
 *
 *   node tests/interop/run.mjs [--write] [--update] [word …]
 *
 * `--write` writes the result into docs/interop.md, `--update` installs the newest versions of what is in the cache
 * already. Words choose rows: `go http modern`. Exits with 1 if something differs, with 6 if an SDK is missing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ClientProcess } from './client-process.mjs'
import { compare } from './compare.mjs'
import { FEATURES } from './features.mjs'
import { createReport, writePage } from './report.mjs'
import { HERE, SDKS } from './sdks.mjs'

const MAIN = join(HERE, '../../packages/gateway/dist/cli/main.js')
const TIMEOUT_MS = 10_000
/** Python needs seconds to load its packages, and more on a busy machine. */
const START_TIMEOUT_MS = 60_000
/** A client of the modern era may be ready before its server: its first request waits for the start. */
const SLOW_FEATURES = [Object.keys(FEATURES)[0], 'reconnect']
const LANES = 2
const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))

const installed = new Map()
const missing = []
for (const [id, sdk] of Object.entries(SDKS)) {
  try {
    installed.set(id, { ...sdk, ...sdk.install({ isUpdate: flags.includes('--update') }) })
  } catch (error) {
    missing.push(`${sdk.title}: ${error.message}`)
  }
}

/** Each server is used by a client of the TypeScript SDK v2 and by one of its own SDK. */
const rows = [...installed.keys()]
  .flatMap((server) => [...new Set(['ts2', server])].map((client) => ({ server, client })))
  .flatMap((pair) => ['stdio', 'http'].map((transport) => ({ ...pair, transport })))
  .flatMap((row) => erasOf(row).map((era) => ({ ...row, era })))
  .filter((row) => words.every((word) => Object.values(row).includes(word)))
const waiting = [...rows]
await Promise.all(Array.from({ length: LANES }, work))

const report = createReport({ rows, installed, missing })
process.stdout.write(`${report.text}\n`)
if (flags.includes('--write')) writePage(report)
process.exitCode = report.differences.length > 0 ? 1 : missing.length > 0 ? 6 : 0

function erasOf({ server, client }) {
  return installed.get(server).eras.filter((era) => installed.get(client).eras.includes(era))
}

async function work() {
  for (let row = waiting.shift(); row; row = waiting.shift()) {
    process.stderr.write(`${Object.values(row).join(' ')} …\n`)
    const direct = await observe(row, useDirectly)
    const through = await observe(row, useThrough)
    row.cells = compare(direct, through)
  }
}

async function observe(row, open) {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-interop-'))
  const ends = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })]
  try {
    const { target, prefix } = await open(row, { folder, ends })
    const command = installed.get(row.client).client
    const openClient = () => new ClientProcess({ command, target: { ...target, era: row.era }, prefix })
    const client = openClient()
    client.reopen = async () => {
      await client.close()
      const again = openClient()
      await again.waitFor('ready')
      return again
    }
    ends.push(() => client.close())
    return await observeFeatures(client)
  } catch (error) {
    return Object.fromEntries(Object.keys(FEATURES).map((name) => [name, { error: `start: ${error.message}` }]))
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function observeFeatures(client) {
  const seen = {}
  await within(client.waitFor('ready'), START_TIMEOUT_MS)
  for (const [name, observeFeature] of Object.entries(FEATURES)) {
    client.forget()
    try {
      const timeoutMs = SLOW_FEATURES.includes(name) ? START_TIMEOUT_MS : TIMEOUT_MS
      seen[name] = { saw: await within(observeFeature(client), timeoutMs) }
    } catch (error) {
      seen[name] = { error: [error.message, client.missing].filter(Boolean).join(': ') }
    }
  }
  return seen
}

async function within(promise, timeoutMs) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing for ${timeoutMs / 1000} s`)), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

async function useDirectly({ server, transport }, { ends }) {
  return { target: await openServer({ server, transport, ends }), prefix: '' }
}

async function openServer({ server, transport, ends }) {
  const [command, ...args] = [...installed.get(server).server, transport]
  if (transport === 'stdio') return { command, args }
  const url = await startProcess([command, ...args], ends)
  await untilListening(url)
  return { url }
}

/** Some servers print their address before they listen. */
async function untilListening(url) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const answered = await fetch(url, { method: 'DELETE' }).then(
      () => true,
      () => false,
    )
    if (answered) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`nobody listens on ${url}`)
}

async function useThrough({ server, transport }, { folder, ends }) {
  const entry = await openServer({ server, transport, ends })
  // Approvals are not what is compared here, and a program gets whole results.
  const config = { governance: { enforce: false }, mcp_servers: { it: entry } }
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config))
  const place = ['--home', folder, '--state', join(folder, 'state')]
  const banner = await startProcess(
    [process.execPath, MAIN, 'serve', ...place, '--port', '0', '--json', '--no-auth'],
    ends,
  )
  const { url } = JSON.parse(banner)
  const target =
    transport === 'http' ? { url } : { command: process.execPath, args: [MAIN, 'serve', '--stdio', ...place] }
  await untilListed(url)
  return { target, prefix: 'it_' }
}

/** The gateway serves before its servers have started. */
async function untilListed(url) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'interop', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  }
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await (await fetch(url, { method: 'POST', headers, body })).text()
    if (answer.includes('it_echo')) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the gateway did not list the tools of the server')
}

/** Resolves with its first line on stdout. */
async function startProcess([command, ...args], ends) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-2_000)
  })
  const gone = once(child, 'exit')
  ends.push(async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
    await gone
    clearTimeout(timer)
  })
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([
    once(lines, 'line'),
    gone.then(([code]) => {
      throw new Error(`${command} ended with ${code}: ${errors}`)
    }),
  ])
  return line
}
