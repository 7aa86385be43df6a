import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { createMcpClient } from './client/client.ts'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))

/** A server whose tool leaves a promise behind that is rejected later, and says when that has happened. */
const SERVER = `
  import { createMcpServer, READ, serveHttp, serveStdio } from '@sallyport/kit'
  const onBug = ({ where, error, incident }) => console.error('BUG ' + where + ' ' + incident.length + ' ' + error.message)
  const server = createMcpServer('late', { dev: true, onBug })
  server.tool('late', { description: '', permission: READ }, () => {
    void new Promise((_, reject) => setImmediate(() => reject(new Error('too late'))))
    return 'early'
  })
  server.tool('note', { description: '', permission: READ }, () => 'noted')
  if (process.argv[1] === 'stdio') await serveStdio(server)
  else console.error('URL ' + (await serveHttp(server, { port: 0 })).url)
`

test(`a rejected promise that a handler did not await does not end a server over HTTP (${promise('KIT-9')})`, async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SERVER], { cwd: PACKAGE, stdio: 'pipe' })
  onTestFinished(() => void child.kill())
  const lines: string[] = []
  const reader = createInterface({ input: child.stderr }).on('line', (text) => lines.push(text))
  const line = async (start: string): Promise<string> => {
    for (;;) {
      const found = lines.find((text) => text.startsWith(start))
      if (found !== undefined) return found
      await once(reader, 'line')
    }
  }
  const url = (await line('URL ')).slice(4)
  const client = await createMcpClient({ url })
  onTestFinished(() => client.close())
  expect(await client.callTool('late')).toMatchObject({ content: [{ text: 'early' }] })
  expect(await line('BUG ')).toBe('BUG work that no handler awaited 8 too late')
  expect(await client.callTool('note')).toMatchObject({ content: [{ text: 'noted' }] })
  expect(child.exitCode).toBeNull()
})

test('nor a server over stdio', async () => {
  const args = ['--input-type=module', '-e', SERVER, 'stdio']
  const client = await createMcpClient({ command: process.execPath, args, cwd: PACKAGE })
  onTestFinished(() => client.close())
  expect(await client.callTool('late')).toMatchObject({ content: [{ text: 'early' }] })
  for (let turn = 0; turn < 3; turn++)
    expect(await client.callTool('note')).toMatchObject({ content: [{ text: 'noted' }] })
})
