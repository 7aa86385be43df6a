import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  FatalToolError,
  getMcpClient,
  type HttpServing,
  type McpClient,
  RetryableToolError,
  readServerConfig,
  serveHttp,
} from '@sallyport/kit'
import { SqlConnector } from '@sallyport/kit/connectors'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRecordsServer } from '../../src/create-records-server.ts'
import { databasesIn, makeDatabases } from '../../src/databases.ts'
import { mintToken } from '../../src/mint-token.ts'

const configPath = fileURLToPath(new URL('../../config.yaml', import.meta.url))
const secret = { RECORDS_SECRET: 'a secret for tests that nobody else has' }

let folder: string
let normal: HttpServing
let isolated: HttpServing

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-'))
  await makeDatabases(folder)
  SqlConnector.configure(databasesIn(folder))
  normal = await serve('records')
  isolated = await serve('records-isolated')
})
afterAll(async () => {
  await Promise.all([normal.close(), isolated.close(), SqlConnector.close()])
  await rm(folder, { recursive: true })
})

async function serve(entry: string): Promise<HttpServing> {
  const environment = { ...secret, RECORDS_PORT: '0', RECORDS_ISOLATED_PORT: '0' }
  const { name, options, listen } = await readServerConfig(entry, { configPath, environment })
  const publishUrl = 'http://127.0.0.1:9/notes'
  return serveHttp(createRecordsServer(name, { ...options, dataFolder: folder, publishUrl }), listen)
}

async function connect(session: string, bearerToken?: string): Promise<McpClient> {
  const { options } = await readServerConfig('records', { configPath, environment: secret })
  return getMcpClient('records-client', {
    configPath,
    environment: { RECORDS_PORT: new URL(normal.url).port, RECORDS_ISOLATED_PORT: new URL(isolated.url).port },
    bearerToken: bearerToken ?? (await mintToken(options.auth, { user: 'ada', session })),
    onElicit: () => ({ action: 'accept', content: { replace: true } }),
  })
}

describe('a client with a token', () => {
  it('moves to the isolated instance once there is private data, and continues there', async () => {
    const client = await connect('private')
    await client.callTool('search_records', { query: 'keemun' })
    expect(client.isIsolated).toBe(false)
    await client.callTool('load_sensitive_dataset', { name: 'salaries' })
    expect(client.isIsolated).toBe(true)
    const { content } = await client.callTool('read_file', { path: '/workspace/salaries.csv' })
    expect(content).toMatchObject([{ text: expect.stringContaining('Ada,5200') }])
    await expect(client.callTool('publish_note', { text: 'Ada earns 5200' })).rejects.toThrow(RetryableToolError)
    await client.close()
  })

  it('lets its user answer a form', async () => {
    const client = await connect('forms')
    await client.callTool('write_file', { path: '/workspace/a.txt', text: 'old' })
    await client.callTool('write_file', { path: '/workspace/a.txt', text: 'new' })
    const { content } = await client.callTool('read_file', { path: '/workspace/a.txt' })
    expect(content).toMatchObject([{ text: 'new' }])
    await client.close()
  })

  it('ends its run with a fatal error', async () => {
    const client = await connect('fatal')
    await expect(client.callTool('publish_note', { text: 'tea' })).rejects.toThrow(FatalToolError)
    await expect(client.listTools()).rejects.toThrow(FatalToolError)
    await client.close()
  })
})

it.each(['', 'not.a.token'])('a client with the token "%s" is turned away', async (token) => {
  await expect(connect('none', token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
})
