import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { createEventFeed } from './events.ts'

const call = (admin: AdminTestGateway, tool: string) => admin.api('/api/call', { method: 'POST', body: { tool } })

describe('the events', () => {
  it('are found by each filter', async () => {
    const admin = await openAdminTestGateway()
    const before = new Date().toISOString()
    const { body: first } = await call(admin, 'hostile/echo')
    await call(admin, 'hostile/die')
    const count = async (query: string): Promise<number> => (await admin.api(`/api/events?${query}`)).body.events.length
    expect(await count('type=TOOL_CALL_STARTED,POLICY_DENIED')).toBe(2)
    expect(await count('tool=mcp__hostile__*')).toBe(3)
    expect(await count(`call=${first.call_id}`)).toBe(2)
    expect(await count(`trace=${first.trace_id}`)).toBe(2)
    expect(await count('session=operator&agent=any&server=hostile')).toBe(3)
    expect(await count('agent=codex')).toBe(0)
    expect(await count(`until=${before}&tool=*`)).toBe(0)
    expect(await count(`since=${before}&tool=*&limit=1`)).toBe(1)
    expect(await count('limit=0')).toBe(0)
  })

  it('come oldest first, with their sequence number and time', async () => {
    const admin = await openAdminTestGateway()
    await call(admin, 'hostile/echo')
    const { events } = (await admin.api('/api/events')).body
    const places = events.map(({ seq }: LoggedEvent) => seq)
    expect(places).toEqual([...places].sort((a: number, b: number) => a - b))
    expect(events[0]).toMatchObject({ type: 'GATEWAY_STARTED', time: expect.stringMatching(/Z$/) })
  })
})

describe('following events', () => {
  it('sends the requested earlier events, then each new event', async () => {
    const admin = await openAdminTestGateway()
    await call(admin, 'hostile/die')
    const stream = await follow(admin, '?tool=mcp__hostile__*&limit=5')
    expect(stream.headers['content-type']).toBe('text/event-stream')
    const events = readEvents(stream)
    expect((await events.next()).value).toMatchObject({ type: 'POLICY_DENIED' })
    await call(admin, 'hostile/echo')
    expect((await events.next()).value).toMatchObject({ type: 'TOOL_CALL_STARTED', tool_name: 'mcp__hostile__echo' })
    expect((await events.next()).value).toMatchObject({ type: 'TOOL_CALL_COMPLETED' })
    stream.destroy()
  })

  it('stops watching the log when the client disconnects', async () => {
    const admin = await openAdminTestGateway()
    const { log } = admin.gateway.store
    const watch = log.watch.bind(log)
    const left = new Promise<void>((resolve) => {
      log.watch = (listener) => {
        const unwatch = watch(listener)
        return () => {
          unwatch()
          resolve()
        }
      }
    })
    const stream = await follow(admin, '')
    stream.destroy()
    await left
  })

  it('does not start for a HEAD request', async () => {
    const admin = await openAdminTestGateway()
    admin.gateway.store.log.watch = () => {
      throw new Error('Nothing would ever stop this watch.')
    }
    expect((await admin.api('/api/events/follow', { method: 'HEAD' })).status).toBe(200)
  })

  it('disconnects a client that does not read, with a notice', async () => {
    let emit = (_event: LoggedEvent): void => {}
    let watching = true
    const feed = createEventFeed({
      watch: (listener) => {
        emit = listener
        return () => {
          watching = false
        }
      },
      matches: () => true,
      earlier: async () => [],
    })
    const event = { seq: 1, time: '', type: 'CONFIG_REJECTED', message: 'x'.repeat(100_000) } as const
    for (let sent = 0; sent < 1_000 && watching; sent++) emit(event)
    const text = await new Response(feed).text()
    expect(text.length).toBeLessThan(4_500_000)
    expect(text).toMatch(/event: overrun\ndata: .*\n\n$/)
  })

  it('sends earlier and new events without a gap or a duplicate, even if reading the earlier ones takes long', async () => {
    const event = (seq: number) => ({ seq, time: '', type: 'CONFIG_REJECTED', message: `${seq}` }) as const
    let emit = (_event: LoggedEvent): void => {}
    let found = (_events: readonly LoggedEvent[]): void => {}
    const feed = createEventFeed({
      watch: (listener) => {
        emit = listener
        return () => {}
      },
      matches: () => true,
      earlier: () => new Promise((resolve) => (found = resolve)),
    })
    for (const seq of [2, 3]) emit(event(seq))
    found([event(1), event(2)])
    await new Promise(setImmediate)
    emit(event(4))
    const reader = feed.getReader()
    let text = ''
    while (!text.includes('"seq":4')) text += new TextDecoder().decode((await reader.read()).value)
    expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => seq)).toEqual(['1', '2', '3', '4'])
    await reader.cancel()
  })
})

async function follow(admin: AdminTestGateway, query: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${admin.operatorToken}` }
  const asked = request(`${admin.url}/api/events/follow${query}`, { headers, agent: false }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return response
}

async function* readEvents(stream: IncomingMessage): AsyncGenerator<LoggedEvent> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data !== undefined) yield JSON.parse(data) as LoggedEvent
    }
  }
}
