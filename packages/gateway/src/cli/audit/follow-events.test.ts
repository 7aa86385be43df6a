import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { scratchFolder } from '../cli.test-kit.ts'
import type { EventView } from '../gateway/gateway-client.ts'
import { followEvents } from './follow-events.ts'

const START = Date.parse('2026-05-01T00:00:00Z')

/** Three of them in every millisecond. */
const eventAt = (seq: number): EventView => ({
  seq,
  time: new Date(START + Math.floor(seq / 3)).toISOString(),
  type: 'CONFIG_REJECTED',
  message: '',
})

interface Feeding {
  readonly asked?: Date
  /** The first feed lets its reader go after three events. */
  readonly overruns?: boolean
}

/** A gateway with a log of its own. */
async function serving(count: number, { overruns = true }: Feeding) {
  const state = scratchFolder()
  const log = Array.from({ length: count }, (_, index) => eventAt(index + 1))
  const find = (query: URLSearchParams): readonly EventView[] => {
    const [since = '', until = '9'] = [query.get('since') ?? undefined, query.get('until') ?? undefined]
    const limit = Number(query.get('limit'))
    return limit === 0 ? [] : log.filter(({ time }) => time >= since && time <= until).slice(-limit)
  }
  let feeds = 0
  const follow = (response: ServerResponse, query: URLSearchParams): void => {
    const tell = (event: EventView): void => void response.write(`data: ${JSON.stringify(event)}\n\n`)
    if (overruns && feeds++ === 0) {
      log.slice(0, 3).forEach(tell)
      response.end('event: overrun\ndata: {}\n\n')
      return
    }
    find(query).forEach(tell)
    tell(eventAt(count + 1))
  }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname.endsWith('/follow')) follow(response, searchParams)
    else response.end(JSON.stringify({ events: find(searchParams) }))
  })
  await once(server.listen(join(state, 'gateway.sock')), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return state
}

async function followed(count: number, { asked = new Date(START), ...feeding }: Feeding = {}) {
  const state = await serving(count, feeding)
  const stop = new AbortController()
  const seen: number[] = []
  const skipped: number[] = []
  const following = followEvents({
    state,
    query: {},
    after: undefined,
    asked,
    onEvent: ({ seq }) => {
      seen.push(seq)
      if (seq === count + 1) stop.abort(new Error('seen all'))
    },
    onSkipped: (number) => skipped.push(number),
    onWaiting: () => {},
    signal: stop.signal,
  })
  await expect(following).rejects.toThrow('seen all')
  return { seen, skipped }
}

it('a reader that was disconnected gets everything that it missed, even more than a page', async () => {
  const { seen, skipped } = await followed(25_000)
  expect(skipped).toEqual([])
  expect(seen).toEqual(Array.from({ length: 25_001 }, (_, index) => index + 1))
})

it('events that are too many to be shown are counted', async () => {
  const { seen, skipped } = await followed(120_000)
  const [count = 0] = skipped
  expect(skipped).toHaveLength(1)
  expect(count).toBeGreaterThan(0)
  expect(seen.length + count).toBe(120_001)
})

it('events between an empty search and the start of the feed are shown', async () => {
  const { seen } = await followed(9, { asked: new Date(eventAt(7).time), overruns: false })
  expect(seen).toEqual([6, 7, 8, 9, 10])
})
