import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { adopt } from '../gateways/bench-world.mjs'
import { MAIN } from '../gateways/gateways.mjs'
import { endGateway } from '../gateways/instance.mjs'
import { HttpClient } from '../load/http-client.mjs'
import { resultOf } from '../load/reply.mjs'
import { StdioClient } from '../load/stdio-client.mjs'
import { processesOf } from '../machine/process-tree.mjs'

const DEMO = fileURLToPath(new URL('../../packages/gateway/demo', import.meta.url))
const OURS = { gateway: { name: 'ours', kind: 'ours' } }

/** How long an agent waits for a start on the demonstration home, whose catalogue is known by then. */
export async function runStartUps({ world, plan, record, say, attempt }) {
  const serve = [MAIN, 'serve', '--home', DEMO, '--state', join(mkdtempSync(join(world.folder, 'start-')), 'state')]
  const note = (round, figures) => {
    for (const [name, ms] of Object.entries(figures)) record({ suite: 'start-up', lane: OURS, case: name, round, ms })
  }
  await attempt(OURS.gateway, 'start-up', async () => {
    await overHttp(world, serve)
    for (let round = 0; round < plan.startRounds; round++) {
      say(`start-up: round ${round + 1} of ${plan.startRounds}`)
      note(round, await bareNode())
      note(round, await overHttp(world, serve))
      note(round, await asWindows(world, serve))
    }
  })
}

async function bareNode() {
  const from = performance.now()
  await once(spawn(process.execPath, ['-e', '0']), 'exit')
  return { 'node -e 0': performance.now() - from }
}

async function overHttp(world, serve) {
  const from = performance.now()
  const child = spawn(process.execPath, [...serve, '--port', '0', '--json'], { stdio: ['ignore', 'pipe', 'ignore'] })
  adopt(world, child)
  const [banner] = await once(child.stdout, 'data')
  const listening = performance.now() - from
  const token = readFileSync(join(serve.at(-1), 'tokens', 'agent'), 'utf8').trim()
  const client = new HttpClient(JSON.parse(banner).url, 'modern', { authorization: `Bearer ${token}` })
  resultOf(await client.call('tools/list'))
  const listed = performance.now() - from
  client.close()
  await endGateway(child.pid)
  return { 'serve: listening': listening, 'serve: first list': listed }
}

/** The first window starts the gateway in the background that the second one joins. */
async function asWindows(world, serve) {
  const first = await openWindow(world, serve)
  const second = await openWindow(world, serve)
  const [, background] = processesOf(first.client.process.pid).own
  // A window that is still there when its gateway goes starts another one, which the next round would join.
  await leave(second)
  await leave(first)
  await endGateway(background)
  return { 'serve --stdio: first window, first list': first.ms, 'serve --stdio: second window, first list': second.ms }
}

async function leave({ client }) {
  const left = once(client.process, 'exit')
  client.close()
  await left
}

async function openWindow(world, serve) {
  const from = performance.now()
  const client = new StdioClient([process.execPath, ...serve, '--stdio'], 'modern')
  adopt(world, client.process)
  resultOf(await client.call('tools/list'))
  return { client, ms: performance.now() - from }
}
