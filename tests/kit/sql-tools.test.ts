import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CONNECT, createMcpServer, type McpServer, READ } from '@sallyport/kit'
import { OpenApiConnector, SqlConnector } from '@sallyport/kit/connectors'
import { connectInMemory } from '@sallyport/kit/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { promise } from '../promises.ts'

const ASK = { type: 'object', properties: { sql: { type: 'string' } }, required: ['sql'] } as const
const ADA = { userId: 'ada', sessionId: 'one' }

let folder: string
let server: McpServer

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sql-tools-'))
  const Database = createRequire(import.meta.url)('libsql')
  const database = new Database(join(folder, 'shop.db'))
  database.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, words TEXT)')
  database.exec(`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 500)
    INSERT INTO t SELECT x, 'words of row ' || x FROM c`)
  database.close()
  server = createMcpServer('shop', { version: '1', dataFolder: join(folder, 'data') })
  const sqlite = join(folder, 'shop.db')
  SqlConnector.configure({ databases: { shop: { sqlite, sensitivity: 'CONFIDENTIAL' }, open: { sqlite } } })
  server.tool(
    'ask_shop',
    { description: 'Ask', permission: READ, input: ASK, result: 'sql_query' },
    ({ sql }, { signal }) => SqlConnector.query('shop', sql, { signal }),
  )
  server.tool(
    'ask_open',
    { description: 'Ask', permission: READ, input: ASK, result: 'sql_query' },
    ({ sql }, { signal }) => SqlConnector.query('open', sql, { signal }),
  )
  server.tool('send', { description: 'Send', permission: CONNECT }, () => 'sent')
})

afterEach(async () => {
  await SqlConnector.close()
  rmSync(folder, { recursive: true })
})

test(`${promise('KIT-7')} a query to a sensitive database blocks tools that reach the network, even if it fails`, async () => {
  const client = await connectInMemory(server, ADA)
  expect(await client.callTool('send', {})).not.toMatchObject({ isError: true })
  expect(await client.callTool('ask_open', { sql: 'SELECT 1' })).not.toMatchObject({ isError: true })
  expect(await client.callTool('send', {})).not.toMatchObject({ isError: true })
  expect(await client.callTool('ask_shop', { sql: 'SELECT nobody FROM t' })).toMatchObject({ isError: true })
  expect(await client.callTool('send', {})).toMatchObject({ isError: true })
  await client.close()
})

test(`${promise('KIT-7')} a large result is saved whole and shown in part`, async () => {
  const client = await connectInMemory(server, ADA)
  const result = await client.callTool('ask_open', { sql: 'SELECT * FROM t' })
  const shown = JSON.stringify(result)
  expect(shown).toContain('words of row 1"'.replace('"', ''))
  expect(shown).not.toContain('words of row 250')
  expect(shown).toContain('/workspace/results/')
  await client.close()
})

test(`${promise('KIT-7')} the model learns what is wrong with a statement, and has to stop when the database is gone`, async () => {
  const client = await connectInMemory(server, ADA)
  const wrong = await client.callTool('ask_open', { sql: 'SELECT nobody FROM t' })
  expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('no such column: nobody') }] })
  rmSync(join(folder, 'shop.db'))
  const gone = await client.callTool('ask_open', { sql: 'SELECT 1 FROM t' })
  expect(gone).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^\[FATAL\] /) }] })
  expect(JSON.stringify(gone)).not.toContain(folder)
  await client.close()
})

test(`${promise('KIT-7')} the operations of an API become tools with the permissions of their methods`, async () => {
  const api = createServer((request, response) => response.end(`you asked ${request.method} ${request.url}`)).listen(
    0,
    '127.0.0.1',
  )
  await new Promise((resolve) => api.once('listening', resolve))
  try {
    const parameters = [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }]
    const spec = { openapi: '3.1.0', paths: { '/pets/{id}': { get: { operationId: 'get_pet', parameters } } } }
    await OpenApiConnector.configure({
      pets: { spec, baseUrl: `http://127.0.0.1:${(api.address() as AddressInfo).port}` },
    })
    for (const { name, options, handler } of OpenApiConnector.tools('pets')) server.tool(name, options, handler)
    const client = await connectInMemory(server, ADA)
    expect(await client.callTool('get_pet', { id: 7 })).toMatchObject({ content: [{ text: 'you asked GET /pets/7' }] })
    await client.callTool('ask_shop', { sql: 'SELECT 1' })
    expect(await client.callTool('get_pet', { id: 7 })).toMatchObject({ isError: true })
    await client.close()
  } finally {
    api.closeAllConnections()
    api.close()
  }
})
