import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { openLabelStore } from '../private-data/private-data.ts'
import { createMcpClient } from './client.ts'

const IDENTITY = { userId: 'ada', sessionId: 'one' }

let dataFolder: string
let called: string[]

beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'opening-label-'))
  called = []
})

afterEach(() => rm(dataFolder, { recursive: true, force: true }))

function createInstance(name: string): McpServer {
  const server = createMcpServer(name, { dataFolder })
  server.tool('look', { description: '', permission: READ }, () => {
    called.push(name)
    return name
  })
  return server
}

describe.each(['legacy', 'modern'] as const)(
  `a client with two instances, in the %s era (${promise('KIT-13')})`,
  (era) => {
    const open = () => {
      const [server, serverIsolated] = [createInstance('normal'), createInstance('isolated')]
      return createMcpClient({ server, serverIsolated, identity: IDENTITY, era })
    }

    test('calls the isolated one from the first call on if the session is already private', async () => {
      await openLabelStore(join(dataFolder, 'labels')).raise(IDENTITY, 'pay', 'SECRET')
      const client = await open()
      expect(client.isIsolated).toBe(true)
      await client.callTool('look')
      await client.close()
      expect(called).toEqual(['isolated'])
    })

    test('calls the normal one otherwise', async () => {
      await openLabelStore(join(dataFolder, 'labels')).raise(IDENTITY, 'weather', 'INTERNAL')
      const client = await open()
      await client.callTool('look')
      await client.close()
      expect(called).toEqual(['normal'])
    })
  },
)
