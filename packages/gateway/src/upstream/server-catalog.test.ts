import type { Era, Json, JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { HandshakeResult } from './link/handshake.ts'
import { Link } from './link/link.ts'
import {
  codeOf,
  createServerHandler,
  MemoryTransport,
  type ReceivedMessage,
  toolNamed,
} from './memory-transport.test-kit.ts'
import { fetchCatalog, type ListSource } from './server-catalog.ts'

type Answers = Readonly<Record<string, (message: ReceivedMessage, server: MemoryTransport) => void>>

interface Source {
  readonly era?: Era
  readonly kind?: ListSource['kind']
}

const ALL = { tools: {}, resources: {}, prompts: {} }

async function fetched(answers: Answers, capabilities: JsonObject = { tools: {} }, source: Source = {}) {
  const { era = 'legacy', kind = 'stdio' } = source
  const transport = new MemoryTransport({ serve: createServerHandler({ answers }) })
  const link = new Link(
    transport,
    { onNotification: () => {}, onQuestion: () => {}, onWarning: () => {}, onDropped: () => {}, onClose: () => {} },
    { clientInfo: {}, capabilities: {} },
  )
  await link.open()
  const handshake: HandshakeResult = { era, protocolVersion: '', capabilities, serverInfo: {}, instructions: undefined }
  const catalog = await fetchCatalog(link, handshake, { timeout: 10_000, kind }).finally(() => link.close())
  return { catalog, transport }
}

const listing = (tools: readonly Json[]): Answers => ({
  'tools/list': ({ id }, server) => server.answer(id, { tools }),
})
const names = (items: readonly JsonObject[]): readonly unknown[] => items.map(({ name }) => name)

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe(`the catalog of a server (${promise('GW-19')})`, () => {
  it('is requested only for declared capabilities', async () => {
    const { transport } = await fetched({}, { tools: {} })
    expect(transport.received.map(({ method }) => method)).toEqual(['tools/list'])
    const { catalog } = await fetched({}, { clientInfo: {}, capabilities: {} })
    expect(catalog).toMatchObject({ tools: [], resources: [], prompts: [], resourceTemplates: [], leftOut: [] })
  })

  it('is read page by page to its end, with every member unchanged', async () => {
    const pages: Readonly<Record<string, JsonObject>> = {
      '': { tools: [toolNamed('a')], nextCursor: '2' },
      '2': { tools: [{ ...toolNamed('b'), 'x-own': [1], annotations: {} }], nextCursor: '' },
    }
    const { catalog } = await fetched({
      'tools/list': ({ id, params }, server) =>
        server.answer(id, params?.cursor === '' ? { tools: [toolNamed('c')] } : pages[String(params?.cursor ?? '')]),
    })
    expect(names(catalog.tools)).toEqual(['a', 'b', 'c'])
    expect(catalog.tools[1]).toEqual({ ...toolNamed('b'), 'x-own': [1], annotations: {} })
  })

  it('ends if the pages of a server repeat or never end', async () => {
    const circle = await fetched({
      'tools/list': ({ id }, server) => server.answer(id, { tools: [toolNamed('a')], nextCursor: 'again' }),
    })
    expect(circle.transport.received).toHaveLength(2)
    let page = 0
    const endless = await fetched({
      'tools/list': ({ id }, server) => server.answer(id, { tools: [toolNamed(`t${page}`)], nextCursor: `c${++page}` }),
    })
    expect(endless.catalog.tools).toHaveLength(200)
    expect(endless.catalog.leftOut).toEqual([{ name: 'tools/list', reason: 'more than 200 pages' }])
  })

  it('leaves out what cannot be offered, says why, and includes the rest', async () => {
    const { catalog } = await fetched(
      listing([
        toolNamed('good'),
        toolNamed('good'),
        { name: 'no-schema' },
        { name: 'bad-schema', inputSchema: [] },
        { inputSchema: {} },
        { name: '', inputSchema: {} },
        { name: 7, inputSchema: {} },
        'text',
        null,
        toolNamed('x'.repeat(257)),
        { ...toolNamed('wordy'), description: 5 },
        { ...toolNamed('huge'), description: 'x'.repeat(300_000) },
        { ...toolNamed('deep'), inputSchema: { type: 'object', x: JSON.parse('['.repeat(900) + ']'.repeat(900)) } },
        { ...toolNamed('many'), inputSchema: { type: 'object', enum: Array(20_001).fill(1) } },
        toolNamed('also good'),
        toolNamed('__proto__'),
        toolNamed('constructor'),
      ]),
    )
    expect(names(catalog.tools)).toEqual(['good', 'also good', '__proto__', 'constructor'])
    expect(catalog.leftOut.map(({ reason }) => reason)).toEqual([
      'it is listed twice',
      'its inputSchema is missing',
      'its inputSchema is not an object',
      'its name is missing',
      'its name is missing',
      'its name is missing',
      'it is not an object',
      'it is not an object',
      'its name is longer than 256 characters',
      'its description is not a string',
      'its definition is larger than 256000 characters',
      'its definition is nested deeper than 64',
      'its definition has more than 20000 parts',
    ])
  })

  it('is limited, and so is the list of omitted entries', async () => {
    const rubbish = await fetched(listing(Array.from({ length: 5_000 }, () => 'rubbish')))
    expect(rubbish.catalog.leftOut).toHaveLength(101)
    expect(rubbish.catalog.leftOut.at(-1)?.reason).toBe('there are too many to list')
    const many = await fetched(listing(Array.from({ length: 20_010 }, (_, index) => toolNamed(`t${index}`))))
    expect(many.catalog.tools).toHaveLength(20_000)
    expect(many.catalog.leftOut).toEqual([{ name: 'tools/list', reason: 'more than 20000 entries' }])
  })

  it('is offered even if the server cannot list its resources or prompts', async () => {
    const { catalog } = await fetched({}, ALL)
    expect(names(catalog.tools)).toEqual(['echo'])
    expect(catalog.leftOut).toEqual([
      { name: 'resources/list', reason: 'the server refused to list them' },
      { name: 'prompts/list', reason: 'the server refused to list them' },
    ])
  })

  it('is unknown if the tools cannot be listed or read', async () => {
    expect(await codeOf(fetched({ 'tools/list': ({ id }, server) => server.refuse(id) }))).toBe('UPSTREAM_PROTOCOL')
    expect(await codeOf(fetched({ 'tools/list': ({ id }, server) => server.answer(id, 'text') }))).toBe(
      'UPSTREAM_PROTOCOL',
    )
    const { catalog } = await fetched({ 'tools/list': ({ id }, server) => server.answer(id, { tools: { a: 1 } }) })
    expect(catalog.tools).toEqual([])
  })

  it('contains only URIs and templates of a reasonable length', async () => {
    const long = `a://${'x'.repeat(5_000)}`
    const answers: Answers = {
      'resources/list': ({ id }, server) => server.answer(id, { resources: [{ uri: long }, { uri: 'a://b' }] }),
      'resources/templates/list': ({ id }, server) => server.answer(id, { resourceTemplates: [{ uriTemplate: long }] }),
    }
    const { catalog } = await fetched(answers, { resources: {} })
    expect(catalog.resources).toEqual([{ uri: 'a://b' }])
    expect(catalog.resourceTemplates).toEqual([])
    expect(catalog.leftOut.map(({ reason }) => reason)).toEqual([
      'its uri is longer than 4096 characters',
      'its uriTemplate is longer than 4096 characters',
    ])
  })
})

describe(`the catalog of a modern server (${promise('GW-17')})`, () => {
  const annotated = (name: string, header: Json): JsonObject => ({
    name,
    inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': header } } },
  })

  it('omits the tools whose headers HTTP could not carry, and includes all others', async () => {
    const answers = listing([annotated('good', 'Region'), annotated('bad', 'My Region'), toolNamed('plain')])
    const { catalog } = await fetched(answers, { tools: {} }, { era: 'modern', kind: 'http' })
    expect(names(catalog.tools)).toEqual(['good', 'plain'])
    expect(catalog.leftOut).toEqual([
      { name: 'bad', reason: 'its x-mcp-header "My Region" is not a valid header name' },
    ])
  })

  it('is complete if nothing is repeated in headers', async () => {
    const answers = listing([annotated('bad', 'My Region')])
    const sources: readonly Source[] = [
      { era: 'modern', kind: 'stdio' },
      { era: 'legacy', kind: 'http' },
    ]
    for (const source of sources) {
      const { catalog } = await fetched(answers, { tools: {} }, source)
      expect(names(catalog.tools)).toEqual(['bad'])
    }
  })

  it('is fresh until its first page expires, and at most for a day', async () => {
    const pages: Readonly<Record<string, JsonObject>> = {
      '': { tools: [toolNamed('a')], nextCursor: '2', ttlMs: 60_000 },
      '2': { tools: [], ttlMs: 5_000 },
    }
    const before = Date.now()
    const { catalog } = await fetched(
      {
        'tools/list': ({ id, params }, server) => server.answer(id, pages[String(params?.cursor ?? '')]),
        'prompts/list': ({ id }, server) => server.answer(id, { prompts: [], ttlMs: 1e300 }),
        'resources/list': ({ id }, server) => server.answer(id, { resources: [], ttlMs: -1 }),
        'resources/templates/list': ({ id }, server) => server.answer(id, { resourceTemplates: [], ttlMs: 'long' }),
      },
      ALL,
      { era: 'modern' },
    )
    const ages = Object.entries(catalog.freshUntil ?? {}).map(([key, until]) => [key, until - before])
    const atLeast: Readonly<Record<string, number>> = {
      tools: 5_000,
      prompts: 86_400_000,
      resources: 0,
      resourceTemplates: 0,
    }
    expect(ages.map(([key]) => key).sort()).toEqual(Object.keys(atLeast).sort())
    for (const [key, age] of ages as [string, number][]) {
      expect(age).toBeGreaterThanOrEqual(atLeast[key] as number)
      expect(age).toBeLessThan((atLeast[key] as number) + 4_000)
    }
    const legacy = await fetched(listing([]))
    expect(legacy.catalog.freshUntil).toBeUndefined()
  })
})
