import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ, WRITE } from '../permission.ts'
import { privateData } from '../private-data/private-data.ts'
import { connectInMemory } from '../testing/testing.ts'
import { currentWorkspace } from './workspace.ts'

const CANARY = 'canary-5200'
const FILE = '/workspace/notes.txt'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-private-workspace-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const load = (): Promise<unknown> => privateData().addPrivateDataset('salaries', 'CONFIDENTIAL')

/** A server whose tools differ in when they say that their data is private. */
function openServer(): McpServer {
  const environment = { SALLYPORT_KEYS: join(root, 'keys') }
  const server = createMcpServer('people', { dataFolder: join(root, 'data'), environment })
  const input = { type: 'object' } as const
  const write = (): Promise<unknown> => currentWorkspace().appendFile(FILE, CANARY)
  const steps: Readonly<Record<string, readonly (() => Promise<unknown>)[]>> = {
    state_and_write: [load, write],
    write_and_state: [write, load],
    write: [write],
    write_and_move: [write, () => currentWorkspace().rename(FILE, '/workspace/moved.txt'), load],
    write_and_delete: [write, () => currentWorkspace().deleteFile(FILE), load],
    state: [load],
  }
  for (const [name, work] of Object.entries(steps))
    server.tool(name, { description: name, permission: WRITE, input }, async () => {
      for (const step of work) await step()
      return 'done'
    })
  server.tool('read', { description: 'Reads', permission: READ, input }, async () =>
    (await currentWorkspace().readFile(FILE)).bytes.toString(),
  )
  return server
}

async function run(...tools: readonly string[]): Promise<unknown> {
  const client = await connectInMemory(openServer(), { userId: 'ada', sessionId: 's1' })
  let text: unknown
  for (const name of tools) {
    const { content } = (await client.callTool(name, {})) as { content: readonly { text?: string }[] }
    text = content[0]?.text
  }
  return text
}

/** Where somebody with a copy of the data would find it. */
const findCanary = (): readonly string[] =>
  readdirSync(join(root, 'data'), { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(root, 'data', name)
    return statSync(path).isFile() && readFileSync(path, 'latin1').includes(CANARY)
  })

describe(`what a handler writes into the workspace of its session (${promise('SEN-23')})`, () => {
  it.each([
    ['after it said that its data is private', ['state_and_write']],
    ['before it said that, in the same call', ['write_and_state']],
    ['in a later call of the session, of another process', ['state', 'write']],
  ])('is encrypted if that is %s', async (_, tools) => {
    for (const tool of tools) expect(await run(tool)).toBe('done')
    expect(findCanary()).toEqual([])
    expect(await run('read')).toBe(CANARY)
  })

  it('is not encrypted in a public session, so that programs can read it', async () => {
    expect(await run('write', 'read')).toBe(CANARY)
    expect(findCanary()).toHaveLength(1)
  })

  it('may be removed again before it could be encrypted', async () => {
    expect(await run('write_and_delete')).toBe('done')
    expect(findCanary()).toEqual([])
  })

  it('is encrypted under its new name if it was moved', async () => {
    expect(await run('write_and_move')).toBe('done')
    expect(findCanary()).toEqual([])
  })
})
