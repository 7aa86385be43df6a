import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { FormAnswerer } from '../form.ts'
import { type HttpServing, serveHttp } from '../http/http.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { brandWholeResult } from '../tool-result.ts'
import { type ClientOptions, createMcpClient, type McpClient } from './client.ts'
import { labelled } from './labelled-pair.test-kit.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const FORM = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const

function createAsking(name: string, answers: unknown[] = []): McpServer {
  const server = createMcpServer(name, { version: '1.0.0', dev: true })
  server.tool('ask', { description: 'Asks', permission: READ }, async (_, context) => {
    const answer = await context.elicit({ message: 'Which word?', schema: FORM })
    answers.push(answer)
    return `${name} answers ${answer.action === 'accept' ? answer.content.word : answer.action}`
  })
  server.tool('ask_and_hang', { description: 'Asks and hangs', permission: READ }, async (_, context) => {
    await context.elicit({ message: 'Which word?', schema: FORM })
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
  })
  server.tool('load', { description: 'Loads', permission: READ }, () =>
    brandWholeResult({ content: [], _meta: labelled('CONFIDENTIAL') }),
  )
  return server
}

async function serve(server: McpServer): Promise<HttpServing> {
  const serving = await serveHttp(server, { port: 0 })
  ends.push(() => serving.close())
  return serving
}

async function connect(target: { url: string; urlIsolated?: string }, options: ClientOptions): Promise<McpClient> {
  const client = await createMcpClient({ ...target, ...options })
  ends.push(() => client.close())
  return client
}

const word = (text: string): FormAnswerer => {
  return ({ message }) => ({ action: 'accept', content: { word: `${text} to ${message}` } })
}

describe.each(['legacy', 'modern'] as const)('forms of servers, in the %s era', (era) => {
  test('are answered by the user of the client', async () => {
    const { url } = await serve(createAsking('it'))
    const client = await connect({ url }, { era, onElicit: word('yes') })
    expect((await client.callTool('ask')).content).toMatchObject([{ text: 'it answers yes to Which word?' }])
  })

  test.each(['decline', 'cancel'] as const)('can be answered with %s', async (action) => {
    const { url } = await serve(createAsking('it'))
    const client = await connect({ url }, { era, onElicit: () => ({ action }) })
    expect((await client.callTool('ask')).content).toMatchObject([{ text: `it answers ${action}` }])
  })

  test('are refused if nobody can be asked', async () => {
    const { url } = await serve(createAsking('it'))
    const client = await connect({ url }, { era })
    await expect(client.callTool('ask')).rejects.toThrow()
    expect(client.isAborted).toBe(false)
  })

  test('wait for the user without a timeout, but for nothing else', async () => {
    const { url } = await serve(createAsking('it'))
    const timeoutMs = 1_000
    const slow: FormAnswerer = async (form) => {
      await delay(2 * timeoutMs)
      return word('late')(form)
    }
    const client = await connect({ url }, { era, timeoutMs, onElicit: slow })
    expect((await client.callTool('ask')).content).toMatchObject([{ text: 'it answers late to Which word?' }])
    await expect(client.callTool('ask_and_hang')).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' })
  })

  test(`give the normal instance no answer once the session is private (${promise('KIT-13')})`, async () => {
    const answers: unknown[] = []
    const normal = await serve(createAsking('normal', answers))
    const isolated = await serve(createAsking('isolated'))
    let asked = 0
    const onElicit: FormAnswerer = async (form) => {
      if (++asked === 1) await client.callTool('load')
      return word('secret')(form)
    }
    const client: McpClient = await connect({ url: normal.url, urlIsolated: isolated.url }, { era, onElicit })
    const { content } = await client.callTool('ask')
    const text = era === 'legacy' ? 'normal answers cancel' : 'isolated answers secret to Which word?'
    expect(content).toMatchObject([{ text }])
    expect(JSON.stringify(answers)).not.toContain('secret')
  })
})
