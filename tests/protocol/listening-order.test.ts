import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MODERN_ENVELOPE } from '../harness/mcp-client.ts'
import { endProcess, MAIN, makePlace, type Place, REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

type Message = Record<string, any>

const SERVER = { command: process.execPath, args: [join(REPOSITORY, 'tests/fixtures/one-listener.mjs')] }

describe(`a modern client on a pipe, and a server that remembers one listening request (${promise('GW-17')})`, () => {
  let place: Place
  let window: ChildProcessWithoutNullStreams
  let lines: Interface
  const seen: Message[] = []

  beforeEach(async () => {
    place = makePlace({ governance: { enforce: false }, mcp_servers: { it: SERVER } })
    window = spawn(process.execPath, [MAIN, 'serve', '--stdio', '--home', place.home, '--state', place.state])
    lines = createInterface({ input: window.stdout })
    seen.length = 0
    lines.on('line', (line) => void seen.push(JSON.parse(line)))
    write(request('list', 'tools/list'))
    await until(({ id }) => id === 'list')
  })

  afterEach(async () => {
    await endProcess(window)
    place.remove()
  })

  it('gets the update of a call that it makes before its subscription is acknowledged', async () => {
    write(listen('listen', ['note://a']), call('touch'))
    const update = await until(({ method }) => method === 'notifications/resources/updated')
    expect(update.params.uri).toBe('note://a')
  })

  it('hears of changed lists and of its first resource after it subscribed to another one', async () => {
    write(request('lists', 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
    write(listen('first', ['note://a']))
    await until(acknowledges('first'))
    write(listen('second', ['note://b']))
    await until(acknowledges('second'))
    write(call('touch'), call('grow'))
    await until(({ method }) => method === 'notifications/resources/updated')
    await until(({ method }) => method === 'notifications/tools/list_changed')
  })

  function write(...messages: readonly Message[]): void {
    window.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  }

  async function until(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const message = seen.find(isIt)
      if (message) return message
      await once(lines, 'line')
    }
  }
})

function acknowledges(id: string): (message: Message) => boolean {
  return ({ method, params }) =>
    method === 'notifications/subscriptions/acknowledged' &&
    params._meta['io.modelcontextprotocol/subscriptionId'] === id
}

function listen(id: string, resourceSubscriptions: readonly string[]): Message {
  return request(id, 'subscriptions/listen', { notifications: { resourceSubscriptions } })
}

function call(tool: string): Message {
  return request(tool, 'tools/call', { name: `it_${tool}`, arguments: {} })
}

function request(id: string, method: string, params: Message = {}): Message {
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: MODERN_ENVELOPE } }
}
