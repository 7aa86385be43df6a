import { EventEmitter, once } from 'node:events'
import { type SallyportError, toOwnerKey } from '@sallyport/core'
import { createMcpServer, type McpServer, READ } from '@sallyport/kit'
import { expect, test } from 'vitest'
import { GATEWAY_PERMIT } from '../permit.ts'
import type { Frame, TransportEvents } from '../transport.ts'
import { InProcessTransport } from './in-process-transport.ts'

/** Records the events of a transport, and wakes those who wait for more. */
class Recorder extends EventEmitter implements TransportEvents {
  readonly frames: Frame[] = []
  readonly failures: { readonly id: number; readonly error: SallyportError }[] = []
  readonly troubles: string[] = []

  onFrame(frame: Frame): void {
    this.frames.push(frame)
    this.emit('event')
  }

  onFailure(id: number, error: SallyportError): void {
    this.failures.push({ id, error })
    this.emit('event')
  }

  onWarning(text: string): void {
    this.troubles.push(text)
    this.emit('event')
  }

  onClose(): void {
    expect.fail('nothing here can be lost')
  }

  /** The text of frame `index`, once it is there. */
  async text(index: number): Promise<string> {
    while (this.frames.length <= index) await once(this, 'event')
    return Buffer.concat(this.frames[index]?.parts ?? []).toString()
  }
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

function createServer(): McpServer {
  const server = createMcpServer('sample', { version: '1.0.0', onBug: () => undefined })
  server.tool('text', { description: '', permission: READ }, () => 'é')
  server.tool('huge', { description: '', permission: READ }, () => 'x'.repeat(10_000))
  server.tool('deep', { description: '', permission: READ }, () => {
    let value: unknown = 0
    for (let depth = 0; depth < 1_010; depth++) value = [value]
    return value
  })
  server.tool('wait', { description: '', permission: READ }, () => new Promise(() => undefined))
  return server
}

async function openSample(server = createServer()) {
  const transport = new InProcessTransport({ server, maxMessageBytes: 5_000 })
  const recorder = new Recorder()
  await transport.open(recorder)
  const call = (id: number, name: string): void => {
    const params = { name, _meta: { ...META, progressToken: id } }
    const text = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    transport.request({ id, call: { method: 'tools/call', params, name, permit: GATEWAY_PERMIT }, text })
  }
  return { transport, recorder, call }
}

test('an answer arrives as a validated frame, after the request returned', async () => {
  const { transport, recorder, call } = await openSample()
  call(7, 'text')
  expect(recorder.frames).toEqual([])
  const text = await recorder.text(0)
  expect(JSON.parse(text)).toMatchObject({ id: 7, result: { content: [{ type: 'text', text: 'é' }] } })
  expect(recorder.frames[0]?.envelope).toMatchObject({ numericId: 7, bytes: Buffer.byteLength(text), isError: false })
  await transport.close()
})

test('an answer over the limit, or nested too deeply, fails its own request and no other', async () => {
  const { transport, recorder, call } = await openSample()
  call(1, 'huge')
  call(2, 'deep')
  call(3, 'text')
  const answers = [await recorder.text(0), await recorder.text(1)].map((text) => JSON.parse(text))
  expect(recorder.failures.map(({ id, error }) => [id, error.code])).toEqual([[1, 'UPSTREAM_TOO_LARGE']])
  expect(answers.map(({ id, result }) => [id, result.isError ?? false]).toSorted()).toEqual([
    [2, true],
    [3, false],
  ])
  await transport.close()
})

test('a cancellation is sent as a message, as over a pipe', async () => {
  const server = createServer()
  const aborted = new Promise((resolve) => {
    server.tool('listen', { description: '', permission: READ }, (_, { signal, progress }) => {
      signal.addEventListener('abort', resolve)
      progress(1)
      return new Promise(() => undefined)
    })
  })
  const { transport, recorder, call } = await openSample(server)
  call(1, 'listen')
  expect(JSON.parse(await recorder.text(0)).params).toEqual({ progressToken: 1, progress: 1 })
  expect(transport.abandon(1)).toBe(false)
  transport.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }))
  await aborted
  await transport.close()
})

test('closing aborts requests in flight and delivers nothing more, not even the end of a subscription', async () => {
  const { transport, recorder, call } = await openSample()
  const params = { _meta: META, notifications: { toolsListChanged: true } }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'subscriptions/listen', params })
  transport.request({ id: 9, call: { method: 'subscriptions/listen', params, permit: GATEWAY_PERMIT }, text })
  expect(JSON.parse(await recorder.text(0)).method).toBe('notifications/subscriptions/acknowledged')
  call(1, 'wait')
  await transport.close()
  await new Promise(setImmediate)
  expect(recorder.frames).toHaveLength(1)
})

test('nothing arrives after the close', async () => {
  const { transport, recorder, call } = await openSample()
  call(1, 'text')
  await transport.close()
  await transport.close()
  call(2, 'text')
  await new Promise(setImmediate)
  expect(recorder.frames).toEqual([])
})

test('a tool that is registered later is announced', async () => {
  const server = createServer()
  const transport = new InProcessTransport({ server, maxMessageBytes: 5_000 })
  const recorder = new Recorder()
  await transport.open(recorder)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  transport.request({ id: 1, call: { method: 'initialize', params, permit: GATEWAY_PERMIT }, text })
  expect(recorder.frames).toEqual([])
  expect(JSON.parse(await recorder.text(0)).result.protocolVersion).toBe('2025-11-25')
  server.tool('later', { description: '', permission: READ }, () => '')
  expect(JSON.parse(await recorder.text(1)).method).toBe('notifications/tools/list_changed')
  await transport.close()
})

test('a connection whose calls were all cancelled is released like an idle one', async () => {
  const started = new EventEmitter()
  const server = createMcpServer('here')
  server.tool('wait', { description: 'Waits', permission: READ }, (_, { signal }) => {
    started.emit('started')
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  let closed = 0
  const counting = {
    connect(...given: Parameters<McpServer['connect']>) {
      const connection = server.connect(...given)
      const close = (): void => {
        closed += 1
        connection.close()
      }
      return { receive: (message: unknown) => connection.receive(message), close }
    },
  } as unknown as McpServer
  const transport = new InProcessTransport({ server: counting, maxMessageBytes: 1_000 })
  await transport.open(new Recorder())
  const call = async (id: number): Promise<void> => {
    const begun = once(started, 'started')
    const params = { name: 'wait', arguments: {}, _meta: META }
    const text = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    const session = toOwnerKey({ user: 'u', session: `s${id}` })
    transport.request({ id, call: { method: 'tools/call', params, session, permit: GATEWAY_PERMIT }, text })
    await begun
  }
  await call(1)
  transport.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }))
  for (let id = 2; id <= 1_001; id++) await call(id)
  expect(closed).toBe(1)
  await transport.close()
})
