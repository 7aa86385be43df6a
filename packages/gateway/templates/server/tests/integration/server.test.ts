import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMcpClient, serveHttp } from '@sallyport/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createServer } from '../../src/create-server.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'my-server-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('it answers over HTTP', async () => {
  const serving = await serveHttp(createServer('my-server', { dev: true, dataFolder: folder }), { port: 0 })
  const client = await createMcpClient({ url: serving.url })
  const { structuredContent } = await client.callTool('count_words', { text: 'a cup of tea' })
  expect(structuredContent).toEqual({ words: 4 })
  await client.close()
  await serving.close()
})

test('it refuses callers without a token', async () => {
  const auth = { jwt: { secret: 'a secret for this test that is long enough' } }
  const serving = await serveHttp(createServer('my-server', { auth, dataFolder: folder }), { port: 0 })
  await expect(createMcpClient({ url: serving.url })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await serving.close()
})

test('it answers over stdio, as an agent starts it', async () => {
  const client = await createMcpClient({
    command: process.execPath,
    args: [join(import.meta.dirname, '../../dist/src/server.js'), 'my-server-local', '--stdio'],
    env: { SALLYPORT_DATA: folder },
    cwd: folder,
  })
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['count_words', 'keep_note'])
  await client.close()
})
