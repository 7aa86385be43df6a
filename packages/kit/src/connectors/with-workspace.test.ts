import { mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ, WRITE } from '../permission.ts'
import { privateData } from '../private-data/private-data.ts'
import { connectInMemory } from '../testing/testing.ts'
import { createWorkspace } from '../workspace/workspace.ts'
import { ConnectorError } from './connector-error.ts'
import { CsvConnector } from './csv-connector.ts'
import { FileConnector } from './file-connector.ts'

let home: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'source-')))
})

afterEach(() => rm(home, { recursive: true }))

const TEXT = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const

function createSample(): McpServer {
  const server = createMcpServer('sample', { version: '1', dataFolder: home, onBug: () => undefined })
  server.tool('read', { description: '', permission: READ, input: TEXT }, async ({ path }, context) => {
    context.log('info', `reading ${path}`)
    return (await FileConnector.read(path)).text
  })
  server.tool('write', { description: '', permission: WRITE, input: TEXT }, async ({ path }) => ({
    ...(await FileConnector.write(path, 'mine')),
  }))
  server.tool('list', { description: '', permission: READ }, async () => ({ ...(await FileConnector.list()) }))
  server.tool('salaries', { description: '', permission: READ }, async () => {
    const sensitive = { dataset: 'salaries', sensitivity: 'CONFIDENTIAL' } as const
    await CsvConnector.read('/workspace/none.csv', { sensitive }).catch(() => undefined)
    return privateData().sensitivity()
  })
  return server
}

/** Everything that the server sent, and the texts of one call. */
async function call(server: McpServer, who: { userId: string; sessionId: string }, [name, args]: [string, object?]) {
  const client = await connectInMemory(server, who)
  try {
    const result = (await client.callTool(name, (args ?? {}) as never)) as any
    return { ...result, notifications: client.notifications }
  } finally {
    await client.close()
  }
}

const ADA = { userId: 'ada', sessionId: '1' }

describe(`connectors within a server (${promise('KIT-3')}, ${promise('KIT-7')})`, () => {
  test('work only with files of the calling user and session', async () => {
    const server = createSample()
    await call(server, ADA, ['write', { path: '/workspace/deep/a.txt' }])
    expect((await call(server, ADA, ['read', { path: '/workspace/deep/a.txt' }])).content[0].text).toBe('mine')
    for (const other of [
      { userId: 'ada', sessionId: '2' },
      { userId: 'bob', sessionId: '1' },
      { userId: '../ada', sessionId: '1' },
    ])
      expect((await call(server, other, ['read', { path: '/workspace/deep/a.txt' }])).isError).toBe(true)
    expect(await readdir(join(home, 'workspaces'))).toHaveLength(4)
  })

  test('no answer contains a path of the host, whatever fails', async () => {
    const server = createSample()
    await call(server, ADA, ['write', { path: '/workspace/a.txt' }])
    const [owner = ''] = await readdir(join(home, 'workspaces'))
    const root = join(home, 'workspaces', owner)
    await symlink(home, join(root, 'link'))
    await symlink('/proc/self/fd/0', join(root, 'magic'))
    await writeFile(join(root, 'a.csv'), '"')
    const paths = ['a.txt', 'none', 'link', 'link/labels', 'magic', 'a.txt/x', '..', 'n'.repeat(300), 'a\0']
    const answers: unknown[] = [await call(server, ADA, ['list'])]
    for (const path of paths)
      for (const name of ['read', 'write'])
        answers.push(await call(server, ADA, [name, { path: `/workspace/${path}` }]))
    await rm(root, { recursive: true })
    await writeFile(root, 'in the way')
    answers.push(await call(server, ADA, ['list']), await call(server, ADA, ['read', { path: '/workspace/a.txt' }]))
    for (const answer of answers) {
      expect(JSON.stringify(answer)).not.toContain(home)
      expect(JSON.stringify(answer)).not.toContain('/proc')
      expect(JSON.stringify(answer)).not.toContain(owner)
    }
    expect(JSON.stringify(answers.at(-1))).toContain('[FATAL] ')
    expect(JSON.stringify(answers)).toContain('reading /workspace/a.txt')
  })

  test('a sensitive source labels the session before it is read', async () => {
    const server = createSample()
    expect((await call(server, ADA, ['salaries'])).content[0].text).toBe('CONFIDENTIAL')
  })
})

test('a missing root is an error that no argument can fix', async () => {
  const workspace = createWorkspace(join(home, 'nowhere'))
  const error: unknown = await FileConnector.read('/workspace/a', { workspace }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConnectorError)
  expect(error).toMatchObject({ retryable: false })
})

test('outside of a call there is no workspace', async () => {
  await expect(FileConnector.read('/workspace/a')).rejects.toThrow('no caller')
})
