import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { endProcess, MAIN, makePlace } from '../harness/run-gateway.ts'

/** A gateway that may have no more than so many files and connections open. */
async function gatewayWith(limit: number) {
  const place = makePlace()
  const serve = [process.execPath, MAIN, 'serve', '--home', place.home, '--state', place.state, '--port', '0', '--json']
  const child = spawn('sh', ['-c', `ulimit -n ${limit} && exec "$0" "$@"`, ...serve], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    await endProcess(child)
    place.remove()
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const token = readFileSync(join(place.state, 'tokens/operator'), 'utf8').trim()
  return { origin: new URL(JSON.parse(line).url), token }
}

it('a gateway without free descriptors for its API loads it once there are some', async () => {
  const { origin, token } = await gatewayWith(200)
  const ask = async (): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, connection: 'close' }
    const answer = await fetch(new URL('/api/status', origin), { headers })
    const { error } = (await answer.json()) as { error?: { code: string } }
    return { status: answer.status, code: error?.code }
  }
  const idle: Socket[] = []
  onTestFinished(() => idle.forEach((socket) => void socket.destroy()))
  for (let count = 0; count < 100; count++) {
    const socket = connect(Number(origin.port), origin.hostname).on('error', () => {})
    idle.push(socket)
    await once(socket, 'connect')
  }
  expect(await ask()).toEqual({ status: 503, code: 'OVERLOADED' })
  for (const socket of idle) socket.destroy()
  expect(await eventually(ask, (answer) => (answer as { status: number }).status !== 503)).toEqual({ status: 200 })
})
