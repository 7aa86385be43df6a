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
  const opening: HandshakeResult = { era, protocolVersion: '', capabilities, serverInfo: {}, instructions: undefined }
  const catalogue = await fetchCatalog(link, opening, { timeout: 10_000, kind }).finally(() => link.close())
  return { catalogue, transport }
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

describe(`what a server offers (${promise('GW-19')})`, () => {
  it('is asked for only where the server has it', async () => {
    const { transport } = await fetched({}, { tools: {} })
    expect(transport.received.map(({ method }) => method)).toEqual(['tools/list'])
    const { catalogue } = await fetched({}, { clientInfo: {}, capabilities: {} })
    expect(catalogue).toMatchObject({ tools: [], resources: [], prompts: [], resourceTemplates: [], leftOut: [] })
  })

  it('is read page by page to its end, with every member as it was', async () => {
    const pages: Readonly<Record<string, JsonObject>> = {
      '': { tools: [toolNamed('a')], nextCursor: '2' },
      '2': { tools: [{ ...toolNamed('b'), 'x-own': [1], annotations: {} }], nextCursor: '' },
    }
    const { catalogue } = await fetched({
      'tools/list': ({ id, params }, server) =>
        server.answer(id, params?.cursor === '' ? { tools: [toolNamed('c')] } : pages[String(params?.cursor ?? '')]),
    })
    expect(names(catalogue.tools)).toEqual(['a', 'b', 'c'])
    expect(catalogue.tools[1]).toEqual({ ...toolNamed('b'), 'x-own': [1], annotations: {} })
  })

  it('ends where a server leads in a circle, or never comes to an end', async () => {
    const circle = await fetched({
      'tools/list': ({ id }, server) => server.answer(id, { tools: [toolNamed('a')], nextCursor: 'again' }),
    })
    expect(circle.transport.received).toHaveLength(2)
    let page = 0
    const endless = await fetched({
      'tools/list': ({ id }, server) => server.answer(id, { tools: [toolNamed(`t${page}`)], nextCursor: `c${++page}` }),
    })
    expect(endless.catalogue.tools).toHaveLength(200)
    expect(endless.catalogue.leftOut).toEqual([{ name: 'tools/list', reason: 'more than 200 pages' }])
  })

  it('leaves out what cannot be offered, says why, and keeps the others', async () => {
    const { catalogue } = await fetched(
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
    expect(names(catalogue.tools)).toEqual(['good', 'also good', '__proto__', 'constructor'])
    expect(catalogue.leftOut.map(({ reason }) => reason)).toEqual([
      'it is listed twice',
      'its inputSchema is missing',
      'its inputSchema is not an object',
      'its name is missing',
      'its name is missing',
      'its name is missing',
      'it is not an object',
      'it is not an object',
      'its name is longer than 256 characters',
      'its description is not a text',
      'its definition is larger than 256000 characters',
      'its definition is nested deeper than 64',
      'its definition has more than 20000 parts',
    ])
  })

  it('has bounds, and so has what is told of the rest', async () => {
    const rubbish = await fetched(listing(Array.from({ length: 5_000 }, () => 'rubbish')))
    expect(rubbish.catalogue.leftOut).toHaveLength(101)
    expect(rubbish.catalogue.leftOut.at(-1)?.reason).toBe('there are too many to tell')
    const many = await fetched(listing(Array.from({ length: 20_010 }, (_, index) => toolNamed(`t${index}`))))
    expect(many.catalogue.tools).toHaveLength(20_000)
    expect(many.catalogue.leftOut).toEqual([{ name: 'tools/list', reason: 'more than 20000 entries' }])
  })

  it('stays on offer where the server has resources or prompts that it cannot list', async () => {
    const { catalogue } = await fetched({}, ALL)
    expect(names(catalogue.tools)).toEqual(['echo'])
    expect(catalogue.leftOut).toEqual([
      { name: 'resources/list', reason: 'the server refused to list them' },
      { name: 'prompts/list', reason: 'the server refused to list them' },
    ])
  })

  it('is not known where the tools themselves cannot be listed, or are nothing that can be read', async () => {
    expect(await codeOf(fetched({ 'tools/list': ({ id }, server) => server.refuse(id) }))).toBe('UPSTREAM_PROTOCOL')
    expect(await codeOf(fetched({ 'tools/list': ({ id }, server) => server.answer(id, 'text') }))).toBe(
      'UPSTREAM_PROTOCOL',
    )
    const { catalogue } = await fetched({ 'tools/list': ({ id }, server) => server.answer(id, { tools: { a: 1 } }) })
    expect(catalogue.tools).toEqual([])
  })

  it('has URIs and templates of a reasonable length only', async () => {
    const long = `a://${'x'.repeat(5_000)}`
    const answers: Answers = {
      'resources/list': ({ id }, server) => server.answer(id, { resources: [{ uri: long }, { uri: 'a://b' }] }),
      'resources/templates/list': ({ id }, server) => server.answer(id, { resourceTemplates: [{ uriTemplate: long }] }),
    }
    const { catalogue } = await fetched(answers, { resources: {} })
    expect(catalogue.resources).toEqual([{ uri: 'a://b' }])
    expect(catalogue.resourceTemplates).toEqual([])
    expect(catalogue.leftOut.map(({ reason }) => reason)).toEqual([
      'its uri is longer than 4096 characters',
      'its uriTemplate is longer than 4096 characters',
    ])
  })
})

describe(`what a modern server offers (${promise('GW-17')})`, () => {
  const annotated = (name: string, header: Json): JsonObject => ({
    name,
    inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': header } } },
  })

  it('is without the tools whose headers HTTP could not carry, and with all others', async () => {
    const answers = listing([annotated('good', 'Region'), annotated('bad', 'My Region'), toolNamed('plain')])
    const { catalogue } = await fetched(answers, { tools: {} }, { era: 'modern', kind: 'http' })
    expect(names(catalogue.tools)).toEqual(['good', 'plain'])
    expect(catalogue.leftOut).toEqual([{ name: 'bad', reason: 'its x-mcp-header "My Region" is no name of a header' }])
  })

  it('is whole where nothing is repeated in headers', async () => {
    const answers = listing([annotated('bad', 'My Region')])
    const sources: readonly Source[] = [
      { era: 'modern', kind: 'stdio' },
      { era: 'legacy', kind: 'http' },
    ]
    for (const source of sources) {
      const { catalogue } = await fetched(answers, { tools: {} }, source)
      expect(names(catalogue.tools)).toEqual(['bad'])
    }
  })

  it('stays as fresh as the page that ages first, and at most for a day', async () => {
    const pages: Readonly<Record<string, JsonObject>> = {
      '': { tools: [toolNamed('a')], nextCursor: '2', ttlMs: 60_000 },
      '2': { tools: [], ttlMs: 5_000 },
    }
    const before = Date.now()
    const { catalogue } = await fetched(
      {
        'tools/list': ({ id, params }, server) => server.answer(id, pages[String(params?.cursor ?? '')]),
        'prompts/list': ({ id }, server) => server.answer(id, { prompts: [], ttlMs: 1e300 }),
        'resources/list': ({ id }, server) => server.answer(id, { resources: [], ttlMs: -1 }),
        'resources/templates/list': ({ id }, server) => server.answer(id, { resourceTemplates: [], ttlMs: 'long' }),
      },
      ALL,
      { era: 'modern' },
    )
    const ages = Object.entries(catalogue.freshUntil ?? {}).map(([key, until]) => [key, until - before])
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
    expect(legacy.catalogue.freshUntil).toBeUndefined()
  })
})
