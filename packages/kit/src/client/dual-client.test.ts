import type { Sensitivity } from '@sallyport/core'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpClient, type McpClient } from './client.ts'
import { type LabelledPair, labelled, openLabelledPair } from './labelled-pair.test-kit.ts'

let pair: LabelledPair
const open: McpClient[] = []

beforeEach(async () => {
  pair = await openLabelledPair()
})

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()))
  await pair.close()
})

async function connect(options: Record<string, unknown> = {}): Promise<McpClient> {
  const client = await createMcpClient({ url: pair.normal.url, urlIsolated: pair.isolated.url, ...options })
  open.push(client)
  return client
}

/** A call that is answered at once. */
function load(client: McpClient, id: number, label?: string) {
  pair.gates.release(id)
  return client.callTool('load', { id, ...(label && { label }) })
}

const text = ({ content }: { readonly content: readonly Record<string, any>[] }) => content[0]?.text

const EVERYTHING: readonly ((client: McpClient) => Promise<unknown>)[] = [
  (client) => client.listTools(),
  (client) => load(client, 900),
  (client) => client.listResources(),
  (client) => client.listResourceTemplates(),
  (client) => client.readResource('notes://1'),
  (client) => client.listPrompts(),
  (client) => client.getPrompt('greet', { id: '1' }),
  (client) => client.ping(),
  (client) => client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'id', value: '1' } }),
  async (client) => (await client.subscribe('notes://1', { onUpdate: () => {} })).close(),
]

describe.each(['legacy', 'auto'])(`in the era %s: ${promise('KIT-13')}`, (era) => {
  test('after a labelled result every operation goes to the isolated instance, without a new connection', async () => {
    const client = await connect({ era })
    expect(text(await load(client, 1))).toBe('normal')
    expect(text(await load(client, 2, 'INTERNAL'))).toBe('normal')
    expect(client.isIsolated).toBe(false)
    expect(text(await load(client, 3, 'CONFIDENTIAL'))).toBe('normal')
    expect(client.isIsolated).toBe(true)
    const before = pair.normal.received.length
    const openings = pair.isolated.countOpenings()
    for (const operate of EVERYTHING) await operate(client).catch(() => {})
    expect(pair.normal.received.slice(before)).toEqual([])
    expect(pair.isolated.countOpenings()).toBe(openings)
    expect(pair.isolated.methods()).toEqual(
      expect.arrayContaining(['tools/list', 'tools/call', 'resources/read', 'prompts/get']),
    )
  })

  test('no order of calls, answers and labels sends anything to the normal instance once the label is known', async () => {
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          do: fc.constant('start' as const),
          label: fc.constantFrom('', '', '', 'PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat(9) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('finish' as const), which: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('raise' as const) }) },
    )
    let nextId = 1_000
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), fc.boolean(), async (steps, hasCallback) => {
        let outside: Sensitivity = 'PUBLIC'
        const client = await connect({ era, ...(hasCallback && { label: async () => outside }) })
        const sinceOpen = pair.normal.received.length
        const running: { id: number; label: string; end: Promise<unknown> }[] = []
        const lateIds = new Set<number>()
        for (const move of steps) {
          const known = client.isIsolated || (hasCallback && outside === 'SECRET')
          if (move.do === 'start' || move.do === 'read') {
            const id = nextId++
            if (known) lateIds.add(id)
            const label = move.do === 'start' ? move.label : ''
            const end =
              move.do === 'start'
                ? client.callTool('load', { id, ...(label && { label }) })
                : client.readResource(`notes://${id}`)
            end.catch(() => {})
            running.push({ id, label, end })
          }
          const chosen = 'which' in move && running.length > 0 ? running[move.which % running.length] : undefined
          if (chosen !== undefined) pair.gates.release(chosen.id)
          if (chosen !== undefined && move.do === 'finish') {
            await chosen.end
            if (chosen.label === 'CONFIDENTIAL' || chosen.label === 'SECRET') expect(client.isIsolated).toBe(true)
          }
          if (move.do === 'raise' && hasCallback) outside = 'SECRET'
        }
        for (const { id } of running) pair.gates.release(id)
        await Promise.all(running.map(({ end }) => end))
        const idsAt = (server: LabelledPair['normal'], from: number) =>
          server.received
            .slice(from)
            .map(({ params }) => params.arguments?.id ?? Number(String(params.uri ?? '').slice('notes://'.length)))
            .filter((id) => id >= 1_000)
        const atNormal = idsAt(pair.normal, sinceOpen)
        const everywhere = [...atNormal, ...idsAt(pair.isolated, 0)].filter((id) =>
          running.some((run) => run.id === id),
        )
        expect(atNormal.filter((id) => lateIds.has(id))).toEqual([])
        expect(everywhere.sort()).toEqual(running.map(({ id }) => id).sort())
        await client.close()
      }),
      { numRuns: 60 },
    )
  })
})

describe('the label', () => {
  test.each([
    ['throws', () => Promise.reject(new Error('no store'))],
    [
      'throws at once',
      () => {
        throw new Error('no store')
      },
    ],
    ['returns an invalid sensitivity', async () => 'private'],
    ['gives nothing', async () => undefined],
    ['never answers', () => new Promise(() => {})],
  ])('is private if the callback %s', async (_, label) => {
    const client = await connect({ label, timeoutMs: 2_000 })
    const before = pair.normal.received.length
    await client.listTools({ timeoutMs: 60_000 })
    expect(client.isIsolated).toBe(true)
    expect(pair.normal.received.length).toBe(before)
  })

  test('is read before every operation until it is private, and is never lowered', async () => {
    let sensitivity: Sensitivity = 'PUBLIC'
    let asked = 0
    const client = await connect({ label: () => [++asked, sensitivity][1] })
    expect(text(await load(client, 1))).toBe('normal')
    sensitivity = 'SECRET'
    expect(text(await load(client, 2))).toBe('isolated')
    sensitivity = 'PUBLIC'
    expect(text(await load(client, 3))).toBe('isolated')
    expect(asked).toBe(2)
  })

  test('of a result is in the shared store before the result is returned, and the next client begins with it', async () => {
    const stored: [string, string][] = []
    const label = {
      read: async () => (stored.length > 0 ? 'SECRET' : 'PUBLIC'),
      raise: async (dataset: string, sensitivity: string) => void stored.push([dataset, sensitivity]),
    }
    const client = await connect({ label })
    await load(client, 1, 'SECRET')
    expect(stored).toContainEqual(['people', 'SECRET'])
    await client.close()
    const next = await connect({ label })
    expect(text(await load(next, 2))).toBe('isolated')
  })

  test('that cannot be stored withholds results until it can, and the session stays private', async () => {
    let isFull = true
    const stored: string[] = []
    const raise = async (dataset: string): Promise<void> => {
      if (isFull) throw new Error('disk full')
      stored.push(dataset)
    }
    const client = await connect({ label: { read: async () => 'PUBLIC', raise } })
    await expect(load(client, 1, 'SECRET')).rejects.toMatchObject({ code: 'RESULT_WITHHELD' })
    expect(client.isIsolated).toBe(true)
    await expect(load(client, 2)).rejects.toMatchObject({ code: 'RESULT_WITHHELD' })
    isFull = false
    expect(text(await load(client, 3))).toBe('isolated')
    await load(client, 4, 'SECRET')
    expect(stored).toEqual(['people'])
  })

  test('is read from the answer to a call that nobody waits for any more', async () => {
    const client = await connect({ era: 'legacy' })
    const giving = new AbortController()
    const call = client.callTool('load', { id: 1, label: 'SECRET' }, { signal: giving.signal })
    await expect.poll(() => pair.normal.methods().includes('tools/call')).toBe(true)
    let onReceived = (): void => {}
    const received = new Promise<void>((resolve) => {
      onReceived = resolve
    })
    // The cancellation is not passed on, so the answer comes late.
    pair.normal.intercept = ({ method }, response) => {
      if (method !== 'notifications/cancelled') return false
      response.writeHead(202).end()
      pair.gates.release(1)
      onReceived()
      return true
    }
    giving.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await received
    await expect.poll(() => client.isIsolated).toBe(true)
  })

  test.each([
    ['a text', 'SECRET'],
    ['an unknown level', { sensitivity: 'TOP' }],
    ['nothing', {}],
    ['a list', []],
  ])('that is %s means the strictest', async (_, label) => {
    const client = await connect()
    pair.normal.intercept = ({ method }, response) => {
      if (method !== 'tools/call') return false
      const result = { content: [], resultType: 'complete', _meta: { 'sallyport/private_data': label } }
      const id = pair.normal.lastId
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      return true
    }
    await client.callTool('load', { id: 1 })
    expect(client.sensitivity).toBe('SECRET')
  })

  test('takes effect even if the answer that contains it is rejected', async () => {
    const client = await connect()
    pair.normal.intercept = ({ method }, response) => {
      if (method !== 'tools/call') return false
      const result = { content: 'no list', resultType: 'complete', _meta: labelled('SECRET') }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: pair.normal.lastId, result }))
      return true
    }
    await expect(client.callTool('load', { id: 1 })).rejects.toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
    expect(client.isIsolated).toBe(true)
  })
})

test.each(['legacy', 'modern'])(
  'a request that is about to be sent when the label arrives goes to the isolated instance, era %s',
  async (era) => {
    let token = Promise.resolve('early')
    let giveToken = (): void => {}
    const client = await connect({ era, bearerToken: () => token })
    const labelling = client.callTool('load', { id: 1, label: 'SECRET' })
    await expect.poll(() => pair.normal.methods().includes('tools/call')).toBe(true)
    token = new Promise((resolve) => {
      giveToken = () => resolve('late')
    })
    pair.gates.release(2)
    const started = [client.callTool('load', { id: 2 }), client.listTools(), client.readResource('notes://1')]
    const before = pair.normal.received.length
    pair.gates.release(1)
    await labelling
    giveToken()
    const [called, listed, read] = await Promise.all(started)
    expect(text(called as never)).toBe('isolated')
    expect(listed).toHaveLength(1)
    expect(read).toMatchObject({ contents: [{ text: 'isolated' }] })
    expect(pair.normal.received.slice(before)).toEqual([])
  },
)

test('a subscription follows the session to the isolated instance', async () => {
  const client = await connect({ era: 'modern' })
  const subscription = await client.subscribe('notes://1', { onUpdate: () => {} })
  expect(pair.normal.methods()).toContain('subscriptions/listen')
  await load(client, 1, 'SECRET')
  await expect.poll(() => pair.isolated.methods().includes('subscriptions/listen')).toBe(true)
  await subscription.close()
})

test('the tools are those of the instance that is called, and the error names a tool that it lacks', async () => {
  const client = await connect()
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['browse', 'load'])
  expect(text(await client.callTool('browse'))).toBe('the web')
  await load(client, 1, 'SECRET')
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['load'])
  await expect(client.callTool('browse')).rejects.toThrow('The isolated instance has no tool "browse"')
  expect(client.isAborted).toBe(false)
})

test('both instances get the bearer token, also a new one, in the header and nowhere else', async () => {
  let turn = 0
  const client = await connect({ bearerToken: () => `token-${++turn}` })
  await load(client, 1, 'SECRET')
  await load(client, 2)
  const all = [...pair.normal.received, ...pair.isolated.received]
  expect(all.every(({ authorization }) => /^Bearer token-\d+$/.test(authorization ?? ''))).toBe(true)
  expect(new Set(all.map(({ authorization }) => authorization)).size).toBe(all.length)
  expect(JSON.stringify(all.map(({ params }) => params))).not.toContain('token-')
})

test.each(['isolated', 'normal'] as const)(
  'if the %s instance cannot be reached, neither connection stays open',
  async (which) => {
    const other = which === 'isolated' ? pair.normal : pair.isolated
    await pair[which].close()
    const url = { normal: pair.normal.url, isolated: pair.isolated.url }
    const opening = createMcpClient({ url: url.normal, urlIsolated: url.isolated, era: 'legacy' })
    await expect(opening).rejects.toThrow(`Cannot connect to the ${which} instance (http://127.0.0.1:`)
    expect(other.countOpenings()).toBe(1)
    expect(other.sessions).toBe(0)
  },
)

test('closes the isolated connection first', async () => {
  const ends: string[] = []
  const client = await connect({ era: 'legacy' })
  pair.isolated.onOtherMethod = (verb) => void ends.push(`isolated ${verb}`)
  pair.normal.onOtherMethod = (verb) => void ends.push(`normal ${verb}`)
  await client.close()
  expect(ends.filter((end) => end.endsWith('DELETE'))).toEqual(['isolated DELETE', 'normal DELETE'])
})

test('refuses an isolated instance with the address of the normal one', async () => {
  await expect(connect({ urlIsolated: pair.normal.url })).rejects.toThrow(
    'The isolated instance has the same address as the normal one.',
  )
})
