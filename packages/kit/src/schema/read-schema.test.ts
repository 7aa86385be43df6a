import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { MODERN_META, RawClient } from '../raw-client.test-kit.ts'
import { toolResult } from '../tool-result.ts'
import type { Schema } from './read-schema.ts'

const base = { description: 'x', permission: READ } as const

function serve(onBug: (bug: { error: unknown }) => void = () => undefined) {
  const server = createMcpServer('schemas', { version: '1', onBug })
  const client = new RawClient(server)
  const call = async (name: string, args: object) =>
    (await client.requestModern('tools/call', { name, arguments: args as never })).result
  const listed = async (era: 'legacy' | 'modern') => {
    if (era === 'legacy') await client.initialize()
    const { result } = await client.request('tools/list', era === 'modern' ? { _meta: MODERN_META } : {})
    return result.tools
  }
  return { server, client, call, listed }
}

describe('a Standard Schema', () => {
  const input = z.object({ city: z.string().trim().min(1), days: z.number().default(3) })

  test('passes its output to the handler, with its types', async () => {
    const { server, call } = serve()
    server.tool('weather', { ...base, input }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>()
      return `${args.city} ${args.days}`
    })
    expect((await call('weather', { city: ' Oslo ' })).content[0].text).toBe('Oslo 3')
  })

  test('is shown to clients as the JSON Schema of its input', async () => {
    const { server, listed } = serve()
    server.tool('weather', { ...base, input }, () => '')
    const [{ inputSchema }] = await listed('modern')
    expect(inputSchema).toMatchObject({ type: 'object', required: ['city'], properties: { days: { default: 3 } } })
  })

  test('reports its own errors, also asynchronously', async () => {
    const { server, call } = serve()
    const slow = z.object({ city: z.string().refine(async (city) => city !== 'Atlantis', 'is not on the map') })
    server.tool('weather', { ...base, input: slow }, ({ city }) => city)
    const refused = await call('weather', { city: 'Atlantis' })
    expect(refused).toMatchObject({ isError: true, content: [{ text: 'city: is not on the map' }] })
    expect((await call('weather', { city: 'Oslo' })).content[0].text).toBe('Oslo')
  })

  test('that JSON Schema cannot express is refused at registration', () => {
    const { server } = serve()
    const dated = z.object({ day: z.date() })
    expect(() => server.tool('a', { ...base, input: dated }, () => '')).toThrow(/cannot be converted to JSON Schema/)
    const mute = { '~standard': { version: 1, vendor: 'mute', validate: (value: unknown) => ({ value }) } } as unknown
    expect(() => server.tool('a', { ...base, input: mute as Schema }, () => '')).toThrow(/"mute"/)
  })
})

test('a plain JSON Schema is checked at every depth', async () => {
  const { server, call } = serve()
  const spot = { type: 'object', properties: { x: { type: 'integer', minimum: 0 } }, required: ['x'] }
  const input = { type: 'object', properties: { spots: { type: 'array', items: spot } } } as const
  server.tool('draw', { ...base, input }, () => 'drawn')
  expect((await call('draw', { spots: [{ x: 1 }] })).content[0].text).toBe('drawn')
  const refused = await call('draw', { spots: [{ x: 1 }, { x: -1 }] })
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('spots[1].x') }] })
})

test.each([
  { properties: { user_id: {} } },
  { properties: { userId: {} } },
  { properties: { 'Session-ID': {} } },
  { allOf: [{ properties: { UserID: {} } }] },
  { anyOf: [{ $ref: '#/$defs/who' }], $defs: { who: { properties: { sessionId: {} } } } },
  { required: ['user_id'] },
])(
  'a tool that takes %j as an argument is refused: the caller is proven by the token, not by an argument',
  (schema) => {
    const { server } = serve()
    const input = { type: 'object', ...schema } as Schema
    expect(() => server.tool('a', { ...base, input }, () => '')).toThrow(/has an argument/)
    expect(() => server.tool('b', { ...base, input: z.object({ session_id: z.string() }) }, () => '')).toThrow(
      /session_id/,
    )
  },
)

test('a server that represents another uses its tools unchanged', async () => {
  const server = createMcpServer('other', { version: '1', toolsOfOthers: true })
  const input = { type: 'object', properties: { user_id: { type: 'string' } } } as const
  server.tool('kick', { ...base, input }, ({ user_id }) => `${user_id} is out`)
  const { result } = await new RawClient(server).requestModern('tools/call', {
    name: 'kick',
    arguments: { user_id: 'U1' },
  })
  expect(result.content[0].text).toBe('U1 is out')
})

test.each([
  { schema: { patternProperties: { '^x-': {} }, additionalProperties: false }, args: { 'x-a': 1 } },
  { schema: { properties: { at: { enum: [{ x: 1 }] } } }, args: { at: { x: 1 } } },
])('and refuses no arguments that the tools accept: $schema', async ({ schema, args }) => {
  const server = createMcpServer('other', { version: '1', toolsOfOthers: true })
  server.tool('kick', { ...base, input: { type: 'object', ...schema } }, () => 'kicked')
  const { result } = await new RawClient(server).requestModern('tools/call', { name: 'kick', arguments: args })
  expect(result.content[0].text).toBe('kicked')
})

test('ids of other things, and ids in nested objects, are ordinary arguments', () => {
  const { server } = serve()
  const input = { type: 'object', properties: { userIdea: {}, filter: { properties: { user_id: {} } } } } as const
  expect(() => server.tool('a', { ...base, input }, () => '')).not.toThrow()
})

describe('an output schema', () => {
  const output = z.object({ celsius: z.number() })

  test('is listed, and a result that matches it becomes structured content', async () => {
    const { server, call, listed } = serve()
    server.tool('weather', { ...base, output }, () => ({ celsius: 21 }))
    expect((await listed('modern'))[0].outputSchema).toMatchObject({ type: 'object', required: ['celsius'] })
    expect(await call('weather', {})).toMatchObject({
      structuredContent: { celsius: 21 },
      content: [{ text: '{"celsius":21}' }],
    })
  })

  test('that the result does not match is reported as a bug of the server', async () => {
    const bugs: unknown[] = []
    const { server, call } = serve(({ error }) => bugs.push(error))
    server.tool('weather', { ...base, output }, () => ({ celsius: 'warm' }) as never)
    const result = await call('weather', {})
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('broke its own output schema') }],
    })
    expect(result.structuredContent).toBeUndefined()
    expect(String(bugs[0])).toContain('celsius')
  })

  test('does not apply to an error result', async () => {
    const { server, call } = serve()
    server.tool('weather', { ...base, output }, () => toolResult({ content: [], isError: true }))
    expect(await call('weather', {})).toMatchObject({ isError: true })
  })

  test('wraps the structure of an error result that a client of the legacy era could not read', async () => {
    const { server, client, call } = serve()
    const failed = { content: [], isError: true, structuredContent: ['no sun'] }
    server.tool('weather', { ...base, output }, () => toolResult(failed))
    expect(await call('weather', {})).toMatchObject(failed)
    await client.initialize()
    const { result } = await client.request('tools/call', { name: 'weather', arguments: {} })
    expect(result).toEqual({ ...failed, structuredContent: { result: ['no sun'] } })
  })

  test('that is not an object is wrapped for clients of the legacy era, which accept only objects', async () => {
    const { server, client, call, listed } = serve()
    server.tool('list', { ...base, output: { type: 'array', items: { type: 'string' } } }, () => ['a'])
    expect(await call('list', {})).toMatchObject({ structuredContent: ['a'] })
    expect((await listed('modern'))[0].outputSchema).toMatchObject({ type: 'array' })
    expect((await listed('legacy'))[0].outputSchema).toMatchObject({ type: 'object', required: ['result'] })
    const { result } = await client.request('tools/call', { name: 'list', arguments: {} })
    expect(result.structuredContent).toEqual({ result: ['a'] })
  })

  test('gives the handler’s return its type', () => {
    const { server } = serve()
    // @ts-expect-error the schema wants a number
    server.tool('weather', { ...base, output }, () => ({ celsius: 'warm' }))
  })
})
