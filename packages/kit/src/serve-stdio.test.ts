import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createMcpServer } from './mcp-server.ts'
import { READ } from './permission.ts'
import { MODERN_META } from './raw-client.test-kit.ts'
import { createSampleServer } from './sample-server.test-kit.ts'
import { serveStdio } from './serve-stdio.ts'

const request = (id: number, method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: MODERN_META } })

/** Feeds the chunks to a server and gives all that it answered once the input ended. */
async function exchange(chunks: readonly (string | Buffer)[], maxMessageBytes?: number) {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const limit = maxMessageBytes === undefined ? {} : { maxMessageBytes }
  const served = serveStdio(createSampleServer(), { stdin, stdout, ...limit })
  for (const chunk of chunks) stdin.write(chunk)
  stdin.end()
  await served
  stdout.end()
  const text = (await stdout.toArray()).join('')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

const echo = (id: number, value: unknown): string => request(id, 'tools/call', { name: 'echo', arguments: { value } })

test('messages are split at newlines, wherever the chunks end', async () => {
  const bytes = Buffer.from(`\ufeff${echo(1, 'é…😀')}\r\n\n \n${echo(2, 'x')}\n`)
  const answers = await exchange([...bytes].map((byte) => Buffer.from([byte])))
  expect(answers.map(({ result }) => result.content[0].text)).toEqual(['é…😀', 'x'])
})

test('a line that is not JSON in UTF-8 is refused, and the next is served', async () => {
  const answers = await exchange(['nonsense\n', Buffer.from([0x22, 0xff, 0x22, 0x0a]), '[]\n', `${echo(1, 'x')}\n`])
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, -32700],
    [null, -32700],
    [null, -32600],
    [1, undefined],
  ])
})

test('a line over the limit is refused and not buffered, and the next is served', async () => {
  const long = 'x'.repeat(1000)
  const answers = await exchange([...Array.from({ length: 50 }, () => long), '\n', `${echo(1, 'x')}\n`], 2_000)
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, -32600],
    [1, undefined],
  ])
})

test('a message of many chunks is read in linear time', async () => {
  const value = 'y'.repeat(20_000_000)
  const line = Buffer.from(`${echo(1, value)}\n`)
  const chunks: Buffer[] = []
  for (let at = 0; at < line.length; at += 1024) chunks.push(line.subarray(at, at + 1024))
  const [answer] = await exchange(chunks)
  expect(answer.result.content[0].text).toHaveLength(value.length)
})

test('an incomplete line at the end is not a message', async () => {
  expect(await exchange([`${echo(1, 'x')}\n`, echo(2, 'half')])).toHaveLength(1)
})

test('no more requests are read from a peer that does not read', async () => {
  const stdin = new PassThrough()
  const stdout = new PassThrough({ highWaterMark: 1024 })
  const served = serveStdio(createSampleServer(), { stdin, stdout })
  const paused = once(stdin, 'pause')
  for (let id = 0; id < 100; id++) stdin.write(`${echo(id, 'z'.repeat(100))}\n`)
  await paused
  expect(stdout.writableLength + stdout.readableLength).toBeLessThan(100_000)
  stdout.resume()
  stdin.end()
  await served
})

test('the end of the input cancels the requests in flight', async () => {
  let told: (() => void) | undefined
  const aborted = new Promise<void>((resolve) => {
    told = resolve
  })
  const server = createMcpServer('sample', { version: '1.0.0' })
  server.tool('wait', { description: '', permission: READ }, (_, { signal }) => {
    signal.addEventListener('abort', () => told?.())
    return new Promise(() => undefined)
  })
  const stdin = new PassThrough()
  const served = serveStdio(server, { stdin, stdout: new PassThrough() })
  stdin.end(`${request(1, 'tools/call', { name: 'wait' })}\n`)
  await Promise.all([served, aborted])
})

test('a broken output ends the serving, not the process', async () => {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const served = serveStdio(createSampleServer(), { stdin, stdout })
  stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await served
  stdin.write(`${echo(1, 'x')}\n`)
})

test('a server process exits when its peer does', async () => {
  const kit = new URL('../dist/index.js', import.meta.url).href
  const script = `
    import { createMcpServer, serveStdio } from ${JSON.stringify(kit)}
    const server = createMcpServer('child', { version: '1.0.0' })
    server.tool('hi', { description: 'Says hi', permission: 'READ' }, () => 'hi')
    await serveStdio(server)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  child.stdin.write(`${request(1, 'tools/call', { name: 'hi' })}\n`)
  const [line] = await once(child.stdout, 'data')
  expect(JSON.parse(line)).toMatchObject({ id: 1, result: { content: [{ text: 'hi' }] } })
  child.stdin.end()
  expect(await exited).toEqual([0, null])
})

test('a very deeply nested message is refused before it is parsed, and the next is served', async () => {
  const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(2_000_000)}`
  const answers = await exchange([`${deep}\n`, `${echo(2, 'x')}\n`])
  expect(answers[0]).toMatchObject({
    id: null,
    error: { code: -32600, message: expect.stringContaining('1000 levels') },
  })
  expect(answers[1]).toMatchObject({ id: 2, result: { content: [{ text: 'x' }] } })
})
