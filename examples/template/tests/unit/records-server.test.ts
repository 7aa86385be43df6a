import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { McpServer, ToolResult } from '@sallyport/kit'
import { SqlConnector } from '@sallyport/kit/connectors'
import { connectInMemory, type FormAnswer } from '@sallyport/kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRecordsServer } from '../../src/create-records-server.ts'
import { databasesIn, makeDatabases } from '../../src/databases.ts'

const NOBODY_LISTENS = 'http://127.0.0.1:9/notes'
const textOf = ({ content: [block] }: ToolResult): unknown => block?.text

let folder: string
let server: McpServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-'))
  await makeDatabases(folder)
  SqlConnector.configure(databasesIn(folder))
  server = createRecordsServer('records', { dataFolder: folder, publishUrl: NOBODY_LISTENS })
})
afterAll(async () => {
  await SqlConnector.close()
  await rm(folder, { recursive: true })
})

describe.each(['modern', 'legacy'] as const)('the server, for a client of the %s era', (era) => {
  it('writes a file and reads it again', async () => {
    const client = await connectInMemory(server, { era })
    const written = await client.callTool('write_file', { path: '/workspace/a.txt', text: 'tea' })
    expect(written.structuredContent).toEqual({ path: '/workspace/a.txt', size: 3, isNew: true })
    expect(textOf(await client.callTool('read_file', { path: '/workspace/a.txt' }))).toBe('tea')
    client.close()
  })

  it.each<[FormAnswer, string]>([
    [{ action: 'accept', content: { replace: true } }, 'new'],
    [{ action: 'accept', content: { replace: false } }, 'old'],
    [{ action: 'decline' }, 'old'],
  ])('asks before it replaces a file, and keeps to %j', async (answer, kept) => {
    const client = await connectInMemory(server, { era, onElicit: () => answer })
    await client.callTool('write_file', { path: '/workspace/a.txt', text: 'old' })
    await client.callTool('write_file', { path: '/workspace/a.txt', text: 'new' })
    expect(textOf(await client.callTool('read_file', { path: '/workspace/a.txt' }))).toBe(kept)
    client.close()
  })

  it('reports the progress of loading a dataset', async () => {
    const client = await connectInMemory(server, { era })
    const seen: unknown[] = []
    await client.callTool('load_sensitive_dataset', { name: 'salaries' }, { onProgress: (step) => seen.push(step) })
    expect(seen).toMatchObject([{ progress: 1 }, { progress: 2 }, { progress: 3 }])
    client.close()
  })
})

describe('the workspace', () => {
  it.each(['/etc/passwd', '/workspace/../../etc/passwd'])('does not lead to %s', async (path) => {
    const client = await connectInMemory(server)
    const result = await client.callTool('read_file', { path })
    expect(result.isError).toBe(true)
    client.close()
  })

  it('is another one for another user', async () => {
    const ada = await connectInMemory(server, { userId: 'ada', sessionId: 's' })
    const bob = await connectInMemory(server, { userId: 'bob', sessionId: 's' })
    await ada.callTool('write_file', { path: '/workspace/mine.txt', text: 'mine' })
    expect((await bob.callTool('read_file', { path: '/workspace/mine.txt' })).isError).toBe(true)
    ada.close()
    bob.close()
  })
})

describe('search_records', () => {
  it('shows a part of a large result, and the rest can be read', async () => {
    const client = await connectInMemory(server)
    const found = await client.callTool('search_records', { query: 'oolong' })
    const [, handle = ''] = /with handle (\w+)/.exec(String(textOf(found))) ?? []
    const rest = await client.callTool('sallyport_read_result', { handle, rows: '20-20' })
    expect(textOf(rest)).toContain('Oolong, harvest 1921')
    client.close()
  })
})

describe('errors', () => {
  it('that the model can correct say how', async () => {
    const client = await connectInMemory(server)
    const result = await client.callTool('search_records', { query: ' ' })
    expect(result).toMatchObject({ isError: true, _meta: { 'sallyport/error': { kind: 'retry' } } })
    expect(textOf(result)).toContain('Give a search term')
    client.close()
  })

  it('of the infrastructure are fatal', async () => {
    const client = await connectInMemory(server)
    expect(textOf(await client.callTool('publish_note', { text: 'tea' }))).toMatch(/^\[FATAL\] The notice board/)
    client.close()
  })

  it('that are bugs reach the log, and the model gets an incident id', async () => {
    const board = createServer((_, response) => response.end('no JSON')).listen(0, '127.0.0.1')
    await new Promise((resolve) => board.once('listening', resolve))
    const { port } = board.address() as { port: number }
    const bugs: unknown[] = []
    const publishUrl = `http://127.0.0.1:${port}`
    const faulty = createRecordsServer('records', { dataFolder: folder, publishUrl, onBug: (bug) => bugs.push(bug) })
    const client = await connectInMemory(faulty)
    expect(textOf(await client.callTool('publish_note', { text: 'tea' }))).toMatch(/incident \w+/)
    expect(bugs).toMatchObject([{ where: 'tool publish_note', error: expect.any(SyntaxError) }])
    client.close()
    board.close()
  })
})

describe('private data', () => {
  it('keeps its session from reaching out, but no other session', async () => {
    const client = await connectInMemory(server)
    await client.callTool('load_sensitive_dataset', { name: 'salaries' })
    const refused = await client.callTool('publish_note', { text: 'Ada earns 5200' })
    expect(refused._meta).toMatchObject({ 'sallyport/error': { kind: 'refused' } })
    const other = await connectInMemory(server)
    const tried = await other.callTool('publish_note', { text: 'tea' })
    expect(tried._meta).toMatchObject({ 'sallyport/error': { kind: 'fatal' } })
    client.close()
    other.close()
  })
})
