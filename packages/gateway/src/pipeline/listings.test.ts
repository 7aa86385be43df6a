import type { Era, JsonObject } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog, tool } from '../catalog/catalog.test-kit.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { ANN, createCall, createTestPipeline } from './pipeline.test-kit.ts'

const textOf = (pieces: readonly (string | Buffer)[]): string => pieces.map(String).join('')
const bytesOf = (pieces: readonly (string | Buffer)[]): unknown => pieces.find((piece) => Buffer.isBuffer(piece))

const RICH = createCatalog(['read', 'write'], {
  capabilities: { tools: {}, resources: {}, prompts: {} },
  resources: [{ uri: 'a://b', name: 'b' }],
  resourceTemplates: [{ uriTemplate: 'a://{x}', name: 'x' }],
  prompts: [{ name: 'p' }],
  instructions: 'Read me.',
})

describe(`lists (${promise('GW-19')})`, () => {
  it('are complete results, serialized once, with the same bytes until something changes', () => {
    const { catalog, listings } = createTestPipeline({ catalogues: { files: RICH } })
    const pieces = listings.renderList('tools/list', ANN, { era: 'legacy' })
    expect(JSON.parse(textOf(pieces))).toEqual({
      tools: ['files_read', 'files_write'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    })
    expect(bytesOf(listings.renderList('tools/list', ANN, { era: 'legacy' }))).toBe(bytesOf(pieces))
    catalog.put('files', createCatalog(['other']))
    expect(textOf(listings.renderList('tools/list', ANN, { era: 'legacy' }))).toContain('files_other')
  })

  it('are marked as complete and private in the modern era', () => {
    const { listings } = createTestPipeline({ catalogues: { files: RICH } })
    expect(JSON.parse(textOf(listings.renderList('resources/templates/list', ANN, { era: 'modern' })))).toEqual({
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      resourceTemplates: [{ uriTemplate: 'a://{x}', name: 'x' }],
    })
  })

  it('do not depend on earlier callers or on the session', () => {
    const { listings } = createTestPipeline({ catalogues: { files: RICH } })
    const bytes = bytesOf(listings.renderList('tools/list', ANN, { era: 'legacy' }))
    expect(bytesOf(listings.renderList('tools/list', { ...ANN, user: 'bob', session: 's2' }, { era: 'legacy' }))).toBe(
      bytes,
    )
    expect(bytesOf(listings.renderList('tools/list', { ...ANN, profile: 'reviewer' }, { era: 'legacy' }))).toEqual(
      bytes,
    )
  })

  it('show exactly the offers that a call may use', async () => {
    const name = fc.stringMatching(/^[ab]{1,2}$/)
    const pattern = fc.stringMatching(/^[ab*]{1,2}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name),
        fc.option(fc.array(pattern), { nil: undefined }),
        fc.array(pattern),
        async (tools, include, exclude) => {
          const catalogues = { files: createCatalog(tools) }
          const { catalog, listings, pipeline } = createTestPipeline({
            catalogues,
            exclude,
            ...(include && { include }),
          })
          const listed = listings.offers('tools/list', ANN)
          for (const offer of catalog.snapshot.tools) {
            expect((await pipeline.decide(createCall(offer))).outcome !== 'deny').toBe(listed.includes(offer))
          }
        },
      ),
    )
  })

  it('are decided again after the rules were invalidated', () => {
    const { listings } = createTestPipeline({ catalogues: { files: RICH } })
    const bytes = bytesOf(listings.renderList('tools/list', ANN, { era: 'legacy' }))
    listings.invalidate()
    expect(bytesOf(listings.renderList('tools/list', ANN, { era: 'legacy' }))).not.toBe(bytes)
  })

  it('stay correct for more kinds of callers than are cached', () => {
    const { listings } = createTestPipeline({ catalogues: { files: RICH }, exclude: ['write'] })
    for (let index = 0; index < 2_500; index++) {
      expect(listings.offers('tools/list', { ...ANN, agent: `agent-${index}` })).toHaveLength(1)
    }
  })
})

describe(`a server of which no tool is selected (${promise('GW-26')})`, () => {
  const others = ['prompts/list', 'resources/list', 'resources/templates/list'] as const

  it('shows none of its prompts, resources and templates, and is not in the list of visible servers', async () => {
    const { catalog, listings, pipeline } = createTestPipeline({ catalogues: { files: RICH }, include: [] })
    for (const method of others) expect(listings.offers(method, ANN)).toEqual([])
    expect(listings.servers(ANN)).toEqual(new Set())
    for (const uri of ['a://b', 'a://by-template', 'c://unlisted']) {
      const call = createCall(catalog.snapshot.resource(uri), { method: 'resources/read' })
      expect(await pipeline.decide(call)).toMatchObject({ outcome: 'deny', decisive: { step: 'select' } })
    }
  })

  it('shows all of them again when the first tool is selected', () => {
    const { listings } = createTestPipeline({ catalogues: { files: RICH }, include: ['read'] })
    for (const method of others) expect(listings.offers(method, ANN)).toHaveLength(1)
    expect(listings.servers(ANN)).toEqual(new Set(['files']))
  })

  it('is different from a server that has no tools at all', () => {
    const { listings } = createTestPipeline({ catalogues: { files: { ...RICH, tools: [] } } })
    expect(listings.offers('resources/list', ANN)).toHaveLength(1)
  })
})

describe(`lists in both eras (${promise('GW-17')})`, () => {
  const listOf = (catalogue: ServerCatalog, era: Era): readonly JsonObject[] => {
    const { listings } = createTestPipeline({ catalogues: { files: catalogue } })
    return JSON.parse(textOf(listings.renderList('tools/list', ANN, { era }))).tools
  }

  it('wrap the output schema of a modern server in an object for a legacy client, if it is not an object', () => {
    const outputSchema = { type: 'array', items: { $ref: '#/$defs/n' }, $defs: { n: { type: 'number' } } }
    const tools = [tool('numbers', { outputSchema }), tool('plain', { outputSchema: { type: 'object' } })]
    const modern = createCatalog([], { era: 'modern', tools })
    expect(listOf(modern, 'modern').map((item) => item.outputSchema)).toEqual([outputSchema, { type: 'object' }])
    expect(listOf(modern, 'legacy').map((item) => item.outputSchema)).toEqual([
      {
        type: 'object',
        properties: { result: { ...outputSchema, items: { $ref: '#/properties/result/$defs/n' } } },
        required: ['result'],
      },
      { type: 'object' },
    ])
    // A legacy server must not have it, and a legacy client would refuse the complete list.
    expect(listOf(createCatalog([], { tools }), 'legacy')[0]).not.toHaveProperty('outputSchema')
  })

  it('have the shortest TTL of their servers, and it decreases with time', () => {
    let now = 1_000
    const modern = (until: number, tools: readonly string[] = ['t']): ServerCatalog =>
      createCatalog(tools, { era: 'modern', freshUntil: { tools: until } })
    const bench = (catalogues: Readonly<Record<string, ServerCatalog>>) => {
      const { listings, catalog } = createTestPipeline({ catalogues, now: () => now })
      const ttl = (): number => JSON.parse(textOf(listings.renderList('tools/list', ANN, { era: 'modern' }))).ttlMs
      return { ttl, catalog }
    }
    const { ttl, catalog } = bench({ a: modern(61_000), b: modern(31_000, []) })
    expect(ttl()).toBe(30_000)
    now = 21_000
    expect(ttl()).toBe(10_000)
    catalog.put('b', modern(41_000, []))
    expect(ttl()).toBe(20_000)
    now = 70_000
    expect(ttl()).toBe(0)
    now = 1_000
    expect(bench({ a: modern(61_000), b: createCatalog(['old']) }).ttl()).toBe(0)
    expect(bench({ a: modern(61_000), b: createCatalog([], { capabilities: { prompts: {} } }) }).ttl()).toBe(60_000)
    expect(bench({ a: modern(Number.MAX_SAFE_INTEGER) }).ttl()).toBe(86_400_000)
    const unheard = bench({ a: modern(61_000) })
    unheard.catalog.reconfigure(['a', 'late'], 'prefixed')
    expect(unheard.ttl()).toBe(0)
  })
})
