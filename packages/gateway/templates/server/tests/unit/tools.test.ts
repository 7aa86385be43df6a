import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectInMemory, type InMemoryClient } from '@sallyport/kit/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServer } from '../../src/create-server.ts'

let folder: string
let client: InMemoryClient

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'my-server-'))
  client = await connectInMemory(createServer('my-server', { dataFolder: folder }))
})
afterEach(async () => {
  client.close()
  await rm(folder, { recursive: true })
})

test('words are counted in any script', async () => {
  const { structuredContent } = await client.callTool('count_words', { text: 'Tea, thé, чай and 茶.' })
  expect(structuredContent).toEqual({ words: 5 })
})

test('a text without words is an error that a model can correct', async () => {
  const result = await client.callTool('count_words', { text: ' ?! ' })
  expect(result).toMatchObject({ isError: true, _meta: { 'sallyport/error': { kind: 'retry' } } })
})

test('notes are appended one after the other', async () => {
  await client.callTool('keep_note', { note: 'one' })
  const { structuredContent } = await client.callTool('keep_note', { note: 'two' })
  expect(structuredContent).toEqual({ path: '/workspace/notes.txt', size: 8 })
})
