// How long a start takes: from spawning the process to the first whole tools/list, with a known catalogue.
//   node bench/start-up.mjs [rounds]
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../packages/gateway/dist/cli/main.js', import.meta.url))
const DEMO = fileURLToPath(new URL('../packages/gateway/demo', import.meta.url))
const rounds = Number(process.argv[2] ?? 15)
const root = mkdtempSync(join(tmpdir(), 'sallyport-start-'))
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } })

function firstLine(child) {
  return new Promise((resolve) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
  })
}

const ended = (child) => new Promise((resolve) => child.once('exit', resolve))

async function bareNode() {
  const from = performance.now()
  await ended(spawn(process.execPath, ['-e', '0']))
  return { 'node -e 0': performance.now() - from }
}

async function overHttp(home, state) {
  const from = performance.now()
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--home', home, '--state', state, '--port', '0', '--no-auth', '--json'],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const { url } = JSON.parse(await firstLine(child))
  const listening = performance.now() - from
  const headers = {
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  }
  const answer = await fetch(url, { method: 'POST', headers, body: LIST })
  const { result } = await answer.json()
  const listed = performance.now() - from
  const gone = ended(child)
  child.kill('SIGTERM')
  await gone
  return { 'serve: listening': listening, [`serve: first list (${result.tools.length} tools)`]: listed }
}

async function overStdio(home, state, label) {
  const from = performance.now()
  const child = spawn(process.execPath, [MAIN, 'serve', '--stdio', '--home', home, '--state', state], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.write(`${LIST}\n`)
  await firstLine(child)
  const listed = performance.now() - from
  return { child, figures: { [label]: listed } }
}

const figures = {}
const note = (measured) => {
  for (const [name, ms] of Object.entries(measured)) figures[name] = [...(figures[name] ?? []), ms]
}

try {
  const state = join(root, 'state')
  await overHttp(DEMO, state)
  await new Promise((resolve) => setTimeout(resolve, 500))
  for (let round = 0; round < rounds; round++) {
    note(await bareNode())
    note(await overHttp(DEMO, state))
    const first = await overStdio(DEMO, state, 'serve --stdio: first window, first list')
    note(first.figures)
    const second = await overStdio(DEMO, state, 'serve --stdio: second window, first list')
    note(second.figures)
    for (const { child } of [first, second]) child.kill('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 5_500))
  }
  for (const [name, values] of Object.entries(figures)) {
    console.log(
      `${name.padEnd(52)} median ${median(values).toFixed(0).padStart(5)} ms   min ${Math.min(...values)
        .toFixed(0)
        .padStart(5)}   max ${Math.max(...values)
        .toFixed(0)
        .padStart(5)}`,
    )
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
