import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { scratchFolder } from '../cli.test-kit.ts'
import { createSocketTransport } from './api-transport.ts'
import { connectToGateway } from './gateway-connection.ts'

const SERVER = `
  const { createServer } = require('node:http')
  const server = createServer((request, response) => {
    if (request.url === '/api/status') response.end('{}')
    if (request.url === '/slow') setTimeout(() => response.end('{}'), 2_500)
  })
  server.listen(process.argv[1], () => console.log('ready'))
`

/** A process that answers on the socket of a state, as a gateway would. */
async function listening() {
  const state = scratchFolder()
  const socketPath = join(state, 'gateway.sock')
  const child = spawn(process.execPath, ['-e', SERVER, socketPath], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0
  writeFileSync(join(state, 'gateway.json'), JSON.stringify({ pid, version: '0', home: '/', started: '' }))
  return { state, pid, stop: () => child.kill('SIGSTOP'), goOn: () => child.kill('SIGCONT') }
}

describe('a gateway that is stopped', () => {
  it('is reported with its pid, for every kind of request', async () => {
    const { state, pid, stop } = await listening()
    stop()
    const ask = createSocketTransport({ state, timeoutMs: 100 })
    const timeoutError = expect.objectContaining({
      code: 'GATEWAY_UNREACHABLE',
      message: expect.stringMatching(new RegExp(`pid ${pid} .* is stopped`)),
      hint: expect.stringContaining(`kill -CONT ${pid}`),
    })
    await expect(ask({ method: 'GET', path: '/api/status' })).rejects.toEqual(timeoutError)
    await expect(ask({ method: 'POST', path: '/api/call', body: '{}' })).rejects.toEqual(timeoutError)
    await expect(connectToGateway('port', { state, home: '/', timeoutMs: 100 })).rejects.toEqual(timeoutError)
  })

  it('is waited for by a window, which reports that', async () => {
    const { state, stop, goOn, pid } = await listening()
    stop()
    const said = await new Promise<string>((resolve) => {
      void connectToGateway('lines', {
        state,
        home: '/',
        timeoutMs: 100,
        onTimeout: ({ text }) => resolve(text),
      }).catch(() => {})
    })
    expect(said).toContain(`pid ${pid}`)
    goOn()
  })
})

it('a gateway that answers other requests may take any time for one', async () => {
  const { state } = await listening()
  const ask = createSocketTransport({ state, timeoutMs: 2_000 })
  expect(await ask({ method: 'GET', path: '/slow' })).toMatchObject({ status: 200 })
})
