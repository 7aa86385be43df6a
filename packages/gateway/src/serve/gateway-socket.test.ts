import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openGatewaySocket } from './gateway-socket.ts'

async function opened() {
  const state = mkdtempSync(join(tmpdir(), 'sallyport-socket-'))
  onTestFinished(() => rmSync(state, { recursive: true, force: true }))
  const nobody = (): void => {}
  const socket = await openGatewaySocket({
    state,
    checkCaller: () => undefined,
    onRequest: nobody,
    onLines: nobody,
    onPort: nobody,
    onRun: nobody,
  })
  return { socket, path: join(state, 'gateway.sock') }
}

it('the socket is removed when its gateway closes', async () => {
  const { socket, path } = await opened()
  expect(existsSync(path)).toBe(true)
  await socket.close()
  expect(existsSync(path)).toBe(false)
  expect(existsSync(`${path}.new`)).toBe(false)
})

it('a socket by which another gateway replaced it is not removed', async () => {
  const { socket, path } = await opened()
  rmSync(path)
  writeFileSync(path, 'of another')
  await socket.close()
  expect(readFileSync(path, 'utf8')).toBe('of another')
})
