import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { ownerFolder } from '@sallyport/kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBuiltInServer } from './built-in-server.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

const CALLER = { userId: 'ada', sessionId: 'one' }

let home: string
let root: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'built-in-'))
  root = ownerFolder(join(home, 'workspaces'), CALLER.userId, CALLER.sessionId)
  await mkdir(join(root, 'sub'), { recursive: true })
  await writeFile(join(root, 'note.txt'), 'héllo wörld')
  await writeFile(join(home, 'secret.txt'), 'OUTSIDE')
})

afterEach(() => rm(home, { recursive: true }))

async function request(method: string, params: object = {}) {
  const answers = new PassThrough({ objectMode: true })
  const server = createBuiltInServer({ dataFolder: home, version: '1.0.0' })
  const connection = server.connect((message) => answers.write(message), { identity: CALLER })
  connection.receive({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } })
  const [{ result }] = await once(answers, 'data')
  connection.close()
  expect(JSON.stringify(result)).not.toContain(home)
  return result
}

const call = (name: string, args: object = {}) => request('tools/call', { name, arguments: args })

async function texts(args: object): Promise<readonly string[]> {
  const result = await call('read_file', args)
  expect(result.isError).toBeUndefined()
  return result.content.map(({ text }: { text: string }) => text)
}

async function failure(name: string, args: object): Promise<string> {
  const result = await call(name, args)
  expect(result.isError).toBe(true)
  return result.content[0].text
}

test('there are four tools, and all of them only read', async () => {
  const { tools } = await request('tools/list')
  expect(tools.map(({ name, annotations }: Record<string, object>) => [name, annotations])).toEqual(
    ['list_directory', 'read_file', 'read_result', 'system_metrics_snapshot'].map((name) => [
      name,
      { readOnlyHint: true, openWorldHint: false },
    ]),
  )
})

test('a short text is the whole result, an empty one too', async () => {
  expect(await texts({ path: '/workspace/note.txt' })).toEqual(['héllo wörld'])
  await writeFile(join(root, 'empty'), '')
  expect(await texts({ path: '/workspace/empty' })).toEqual([''])
})

test('a long text is read page by page, without losing or splitting a character, whatever the page size', async () => {
  const whole = 'aé…😀\n'.repeat(20)
  await writeFile(join(root, 'long.txt'), whole)
  for (const limit of [1, 5, 7, 100]) {
    let read = ''
    let offset: number | undefined = 0
    while (offset !== undefined) {
      const [text, more]: readonly string[] = await texts({ path: '/workspace/long.txt', offset, limit })
      read += text
      offset = more === undefined ? undefined : Number(/offset (\d+)/.exec(more)?.[1])
    }
    expect(read).toBe(whole)
  }
})

test('an offset inside a character begins with the next one', async () => {
  expect(await texts({ path: '/workspace/note.txt', offset: 2 })).toEqual(['llo wörld'])
})

test('a page is 64 KiB by default, and never more than 1 MiB', async () => {
  await writeFile(join(root, 'big.txt'), 'x'.repeat(3_000_000))
  expect((await texts({ path: '/workspace/big.txt' }))[0]).toHaveLength(65_536)
  expect((await texts({ path: '/workspace/big.txt', limit: 1_048_576 }))[0]).toHaveLength(1_048_576)
  expect(await failure('read_file', { path: '/workspace/big.txt', limit: 2_000_000_000 })).toContain('limit must be')
})

test('an image is shown, other binary files are reported as such', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  await writeFile(join(root, 'a.png'), png)
  expect((await call('read_file', { path: '/workspace/a.png' })).content).toEqual([
    { type: 'image', data: png.toString('base64'), mimeType: 'image/png' },
  ])
  await writeFile(join(root, 'a.bin'), Buffer.from([1, 0, 2]))
  await writeFile(join(root, 'latin1.txt'), Buffer.from('caf\xe9', 'latin1'))
  expect(await failure('read_file', { path: '/workspace/a.bin' })).toContain('not text in UTF-8 (3 bytes)')
  expect(await failure('read_file', { path: '/workspace/latin1.txt' })).toContain('not text in UTF-8')
})

test('paths outside, links and offsets beyond the end are refused with messages for the model', async () => {
  await symlink(join(home, 'secret.txt'), join(root, 'link'))
  expect(await failure('read_file', { path: '/workspace/link' })).toContain('symbolic link')
  expect(await failure('read_file', { path: join(home, 'secret.txt').replace(home, '/elsewhere') })).toContain(
    'outside',
  )
  expect(await failure('read_file', { path: '/workspace/note.txt', offset: 99 })).toContain('it has 13 bytes')
  expect(await failure('read_file', { path: '/workspace/note.txt', offset: -1 })).toContain('offset must be at least 0')
  expect(await failure('read_file', { file: 'x' })).toContain('"path" is missing')
  expect(await failure('list_directory', { path: '/workspace/none' })).toContain('no such file')
})

test('a directory is listed with kinds and sizes, and pages say where the next begins', async () => {
  const { structuredContent } = await call('list_directory')
  expect(structuredContent).toEqual({
    path: '/workspace',
    entries: [
      { name: 'note.txt', kind: 'file', size: 13 },
      { name: 'sub', kind: 'directory' },
    ],
    total: 2,
  })
  const page = await call('list_directory', { path: '/workspace', limit: 1 })
  expect(page.structuredContent).toMatchObject({ entries: [{ name: 'note.txt' }], total: 2, next_offset: 1 })
})

test('a workspace that cannot be created is a fatal error for the operator', async () => {
  await rm(join(home, 'workspaces'), { recursive: true })
  await writeFile(join(home, 'workspaces'), 'in the way')
  expect(await failure('read_file', { path: '/workspace/note.txt' })).toMatch(/^\[FATAL\] The workspace cannot/)
})

test('the metrics are numbers and name neither machine nor user', async () => {
  const { structuredContent } = await call('system_metrics_snapshot')
  expect(structuredContent.memory.total_bytes).toBeGreaterThan(structuredContent.memory.available_bytes)
  expect(structuredContent.gateway.rss_bytes).toBeGreaterThan(0)
  expect(structuredContent.load_average).toHaveLength(3)
  const { time: _, ...numbers } = structuredContent
  const text = JSON.stringify(numbers)
  for (const name of [hostname(), userInfo().username, process.cwd()]) expect(text).not.toContain(`"${name}"`)
})
