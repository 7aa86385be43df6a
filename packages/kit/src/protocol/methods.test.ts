import { expect, test } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import type { Bug } from '../offers/definitions.ts'
import { RawClient } from '../raw-client.test-kit.ts'
import { SAMPLE_OPTIONS } from '../sample-server.test-kit.ts'
import { ToolRetryError } from '../tool-error.ts'

test('resources are read by URI or by template; a missing one has the error code of its era', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  server.resource('notes://all', { name: 'All', mimeType: 'text/plain' }, () => 'everything')
  server.resourceTemplate('notes://{id}/text', { name: 'One' }, ({ variables }) =>
    variables.id === 'none' ? undefined : Buffer.from(variables.id ?? ''),
  )
  const client = new RawClient(server)
  await client.initialize()
  expect((await client.request('resources/list')).result.resources).toEqual([
    { uri: 'notes://all', name: 'All', mimeType: 'text/plain' },
  ])
  expect((await client.request('resources/templates/list')).result.resourceTemplates).toEqual([
    { uriTemplate: 'notes://{id}/text', name: 'One' },
  ])
  const { result } = await client.request('resources/read', { uri: 'notes://all' })
  expect(result).toEqual({ contents: [{ uri: 'notes://all', mimeType: 'text/plain', text: 'everything' }] })
  const blob = await client.requestModern('resources/read', { uri: 'notes://%C3%A9/text' })
  expect(blob.result).toMatchObject({ contents: [{ blob: 'w6k=' }], cacheScope: 'private', ttlMs: 0 })
  for (const uri of ['notes://none/text', 'notes:///text', 'notes://a/b/text', 'notes://%zz/text', 'other://x']) {
    expect((await client.request('resources/read', { uri })).error).toMatchObject({ code: -32002, data: { uri } })
    expect((await client.requestModern('resources/read', { uri })).error).toMatchObject({ code: -32602, data: { uri } })
  }
  expect(() => server.resourceTemplate('notes://{a}{b}', {}, () => '')).toThrow(/cannot match/)
})

test('a prompt takes strings, names a missing one, and may return one string', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  const options = { description: 'Greets', arguments: [{ name: 'who', required: true }] }
  server.prompt('greet', options, ({ who }) => `Greet ${who}.`)
  const client = new RawClient(server)
  expect((await client.requestModern('prompts/list')).result.prompts).toEqual([{ name: 'greet', ...options }])
  expect((await client.requestModern('prompts/get', { name: 'greet' })).error.message).toContain('"who" is missing')
  expect((await client.requestModern('prompts/get', { name: 'greet', arguments: { who: 1 } })).error.code).toBe(-32602)
  expect((await client.requestModern('prompts/get', { name: 'nope' })).error.code).toBe(-32602)
  expect(
    (await client.requestModern('prompts/get', { name: 'greet', arguments: { who: 'Ada' } })).result,
  ).toMatchObject({
    description: 'Greets',
    messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ada.' } }],
  })
})

test('errors of prompts and resources are protocol errors that reveal no more than those of tools', async () => {
  const bugs: Bug[] = []
  const server = createMcpServer('sample', { ...SAMPLE_OPTIONS, onBug: (bug) => bugs.push(bug) })
  server.resource('x:bug', {}, () => {
    throw new Error('secret')
  })
  server.resource('x:retry', {}, () => {
    throw new ToolRetryError('Later.')
  })
  const client = new RawClient(server)
  const bug = await client.requestModern('resources/read', { uri: 'x:bug' })
  expect(bug.error.code).toBe(-32603)
  expect(JSON.stringify(bug)).not.toContain('secret')
  expect(bugs).toHaveLength(1)
  expect((await client.requestModern('resources/read', { uri: 'x:retry' })).error).toMatchObject({
    code: -32602,
    message: 'Later.',
  })
})
