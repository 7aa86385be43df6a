import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { createEventFeed } from './events.ts'

const call = (bench: AdminTestGateway, tool: string) => bench.api('/api/call', { method: 'POST', body: { tool } })

describe('the events', () => {
  it('are found by each filter', async () => {
    const bench = await openAdminTestGateway()
    const before = new Date().toISOString()
    const { body: first } = await call(bench, 'hostile/echo')
    await call(bench, 'hostile/die')
    const count = async (query: string): Promise<number> => (await bench.api(`/api/events?${query}`)).body.events.length
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

  it('come oldest first, with their place and time', async () => {
    const bench = await openAdminTestGateway()
    await call(bench, 'hostile/echo')
    const { events } = (await bench.api('/api/events')).body
    const places = events.map(({ seq }: LoggedEvent) => seq)
    expect(places).toEqual([...places].sort((a: number, b: number) => a - b))
    expect(events[0]).toMatchObject({ type: 'GATEWAY_STARTED', time: expect.stringMatching(/Z$/) })
  })
})

describe('following', () => {
  it('gives what was asked for from before, then each event as it happens', async () => {
    const bench = await openAdminTestGateway()
    await call(bench, 'hostile/die')
    const stream = await follow(bench, '?tool=mcp__hostile__*&limit=5')
    expect(stream.headers['content-type']).toBe('text/event-stream')
    const events = readEvents(stream)
    expect((await events.next()).value).toMatchObject({ type: 'POLICY_DENIED' })
    await call(bench, 'hostile/echo')
    expect((await events.next()).value).toMatchObject({ type: 'TOOL_CALL_STARTED', tool_name: 'mcp__hostile__echo' })
    expect((await events.next()).value).toMatchObject({ type: 'TOOL_CALL_COMPLETED' })
    stream.destroy()
  })

  it('stops watching the log when the client has gone', async () => {
    const bench = await openAdminTestGateway()
    const { log } = bench.gateway.store
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
    const stream = await follow(bench, '')
    stream.destroy()
    await left
  })

  it('does not begin for a HEAD request', async () => {
    const bench = await openAdminTestGateway()
    bench.gateway.store.log.watch = () => {
      throw new Error('Nobody would ever stop this.')
    }
    expect((await bench.api('/api/events/follow', { method: 'HEAD' })).status).toBe(200)
  })

  it('lets a reader go who does not read, and says so', async () => {
    let tell = (_event: LoggedEvent): void => {}
    let watching = true
    const feed = createEventFeed({
      watch: (listener) => {
        tell = listener
        return () => {
          watching = false
        }
      },
      matches: () => true,
      earlier: async () => [],
    })
    const event = { seq: 1, time: '', type: 'CONFIG_REJECTED', message: 'x'.repeat(100_000) } as const
    for (let told = 0; told < 1_000 && watching; told++) tell(event)
    const text = await new Response(feed).text()
    expect(text.length).toBeLessThan(4_500_000)
    expect(text).toMatch(/event: overrun\ndata: .*\n\n$/)
  })

  it('begins with what was before and goes on without a gap or a repetition, however long the looking takes', async () => {
    const event = (seq: number) => ({ seq, time: '', type: 'CONFIG_REJECTED', message: `${seq}` }) as const
    let tell = (_event: LoggedEvent): void => {}
    let found = (_events: readonly LoggedEvent[]): void => {}
    const feed = createEventFeed({
      watch: (listener) => {
        tell = listener
        return () => {}
      },
      matches: () => true,
      earlier: () => new Promise((resolve) => (found = resolve)),
    })
    for (const seq of [2, 3]) tell(event(seq))
    found([event(1), event(2)])
    await new Promise(setImmediate)
    tell(event(4))
    const reader = feed.getReader()
    let text = ''
    while (!text.includes('"seq":4')) text += new TextDecoder().decode((await reader.read()).value)
    expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => seq)).toEqual(['1', '2', '3', '4'])
    await reader.cancel()
  })
})

async function follow(bench: AdminTestGateway, query: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${bench.operatorToken}` }
  const asked = request(`${bench.url}/api/events/follow${query}`, { headers, agent: false }).end()
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
