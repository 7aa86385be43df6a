import { expect, test } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { MODERN_META, RawClient } from '../raw-client.test-kit.ts'

const icons = [{ src: 'data:image/png;base64,AA==', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }] as const

function createOffering() {
  const server = createMcpServer('offers', { version: '1', icons, websiteUrl: 'https://offers.example' })
  server.tool('t', { description: 't', permission: READ, icons }, () => '')
  server.resource('notes://all', { icons }, () => 'all')
  const complete = {
    id: (typed: string, others: Readonly<Record<string, string>>) => [`${typed}1`, `${others.folder}`],
    many: () => Array.from({ length: 150 }, (_, at) => String(at)),
  }
  server.resourceTemplate('notes://{folder}/{id}', { icons, complete }, () => 'one')
  const city = {
    name: 'city',
    complete: async (typed: string) => ['Oslo', 'Oulu'].filter((name) => name.startsWith(typed)),
  }
  server.prompt('p', { icons, arguments: [city, { name: 'plain' }] }, () => '')
  return { server, client: new RawClient(server) }
}

test('the server and everything that it offers are listed with their icons', async () => {
  const { client } = createOffering()
  const { result } = await client.initialize()
  expect(result.serverInfo).toMatchObject({ icons, websiteUrl: 'https://offers.example' })
  for (const [method, field] of Object.entries({
    'tools/list': 'tools',
    'resources/list': 'resources',
    'resources/templates/list': 'resourceTemplates',
    'prompts/list': 'prompts',
  }))
    expect((await client.request(method)).result[field]).toMatchObject([{ icons }])
})

test('arguments of prompts and variables of templates are completed', async () => {
  const { client } = createOffering()
  const complete = async (ref: object, name: string, value: string) =>
    (
      await client.requestModern('completion/complete', {
        ref: ref as never,
        argument: { name, value },
        context: { arguments: { folder: 'inbox' } },
      })
    ).result.completion
  const prompt = { type: 'ref/prompt', name: 'p' }
  const template = { type: 'ref/resource', uri: 'notes://{folder}/{id}' }
  expect(await complete(prompt, 'city', 'Os')).toEqual({ values: ['Oslo'], total: 1, hasMore: false })
  expect(await complete(prompt, 'plain', '')).toEqual({ values: [], total: 0, hasMore: false })
  expect((await complete(template, 'id', 'a')).values).toEqual(['a1', 'inbox'])
  expect(await complete(template, 'many', '')).toMatchObject({ total: 150, hasMore: true })
  expect((await complete(template, 'many', '')).values).toHaveLength(100)
})

test.each([
  { ref: { type: 'ref/prompt', name: 'nobody' }, argument: { name: 'a', value: '' } },
  { ref: { type: 'ref/tool', name: 't' }, argument: { name: 'a', value: '' } },
  { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'city' } },
  { argument: { name: 'a', value: '' } },
])('%j is refused because it cannot be completed', async (params) => {
  const { client } = createOffering()
  expect((await client.requestModern('completion/complete', params as never)).error.code).toBe(-32602)
})

test('subscribers are notified of a changed resource, as their era requires', async () => {
  const { server, client: legacy } = createOffering()
  await legacy.initialize()
  await legacy.request('resources/subscribe', { uri: 'notes://all' })
  const modern = new RawClient(server)
  const notifications = { resourceSubscriptions: ['notes://all'] }
  const id = modern.start('subscriptions/listen', { notifications, _meta: MODERN_META })
  expect((await modern.waitForNotification('notifications/subscriptions/acknowledged')).params.notifications).toEqual(
    notifications,
  )
  server.resourceUpdated('notes://other')
  server.resourceUpdated('notes://all')
  expect((await legacy.waitForNotification('notifications/resources/updated')).params).toEqual({ uri: 'notes://all' })
  expect((await modern.waitForNotification('notifications/resources/updated')).params).toEqual({
    uri: 'notes://all',
    _meta: { 'io.modelcontextprotocol/subscriptionId': id },
  })
  await legacy.request('resources/unsubscribe', { uri: 'notes://all' })
  server.resourceUpdated('notes://all')
  const updates = legacy.received.filter(({ method }) => method === 'notifications/resources/updated')
  expect(updates).toHaveLength(1)
})
