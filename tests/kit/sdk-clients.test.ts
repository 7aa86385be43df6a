import { fileURLToPath } from 'node:url'
import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type HttpServing, serveHttp } from '@sallyport/kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createKitServer } from '../fixtures/kit-server.mjs'
import { eventually } from '../harness/processes.ts'
import { openV1, openV2, type SdkClient } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'

const COMMAND = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../fixtures/kit-server.mjs', import.meta.url)), '--stdio'],
}
const MODERN = { pin: '2026-07-28' }

let serving: HttpServing
beforeAll(async () => {
  serving = await serveHttp(createKitServer(), { port: 0 })
})
afterAll(() => serving.close())

const url = (): URL => new URL(serving.url)
const CLIENTS: Readonly<Record<string, () => Promise<SdkClient>>> = {
  'the v1 SDK over HTTP': () => openV1(new LegacyHttp(url())),
  'the v1 SDK over stdio': () => openV1(new LegacyStdio(COMMAND)),
  'the v2 SDK in the legacy era over HTTP': () => openV2(new ModernHttp(url()), 'legacy'),
  'the v2 SDK in the legacy era over stdio': () => openV2(new ModernStdio(COMMAND), 'legacy'),
  'the v2 SDK in the modern era over HTTP': () => openV2(new ModernHttp(url()), MODERN),
  'the v2 SDK in the modern era over stdio': () => openV2(new ModernStdio(COMMAND), MODERN),
}

describe.each(Object.entries(CLIENTS))(`%s and a server written with the kit (${promise('KIT-10')})`, (_name, open) => {
  let client: SdkClient
  beforeEach(async () => {
    client = await open()
  })
  afterEach(() => client.close())

  test('structured results keep their schema, and a result that is not an object is wrapped for its era', async () => {
    const { tools } = await client.plain.listTools()
    expect(tools.find(({ name }) => name === 'add')).toMatchObject({ inputSchema: { required: ['a'] } })
    expect(await client.call('add', { a: 2 })).toMatchObject({ structuredContent: { sum: 3 } })
    const expected = client.era === 'legacy' ? { result: ['a', 'b'] } : ['a', 'b']
    expect((await client.call('list')).structuredContent).toEqual(expected)
  })

  test('wrong arguments are reported to the model', async () => {
    expect(await client.call('add', { a: 'two' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('a: ') }],
    })
  })

  test('progress and logs come before the answer', async () => {
    const seen: object[] = []
    await client.call('add', { a: 1 }, { onprogress: (progress) => seen.push(progress), logLevel: 'info' })
    const methods = client.received.map(({ method }) => method).filter((method) => method !== undefined)
    expect(methods).toEqual(expect.arrayContaining(['notifications/progress', 'notifications/message']))
  })

  test('a handler asks the client several times, and gets the answers', async () => {
    expect((await client.call('ask')).content[0].text).toBe('Ada 7 file:///somewhere')
    expect(client.asked).toHaveLength(3)
  })

  test('resources are read, and changes of subscribed ones are reported', async () => {
    expect((await client.plain.readResource({ uri: 'notes://all' })).contents).toMatchObject([{ text: 'all notes' }])
    const stop = await client.subscribe('notes://all')
    await client.call('touch')
    const isNotified = () => client.received.some(({ method }) => method === 'notifications/resources/updated')
    await eventually(isNotified, Boolean)
    await stop()
  })

  test('prompts are fetched and their arguments completed', async () => {
    const got = await client.plain.getPrompt({ name: 'trip', arguments: { city: 'Oslo' } })
    expect(got.messages).toMatchObject([{ content: { text: 'Plan a trip to Oslo' } }])
    const { completion } = await client.plain.complete({
      ref: { type: 'ref/prompt', name: 'trip' },
      argument: { name: 'city', value: 'Ou' },
    })
    expect(completion.values).toEqual(['Oulu'])
  })
})
