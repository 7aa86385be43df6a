import { fileURLToPath } from 'node:url'
import { createMcpClient, FatalToolError, type McpClient, RetryableToolError } from '@sallyport/kit'
import { afterEach, describe, expect, test } from 'vitest'
import { promise } from '../promises.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/failing-server.mjs', import.meta.url))
const open: McpClient[] = []
afterEach(() => Promise.all(open.splice(0).map((client) => client.close())))

async function connect(sdk: string, era: 'legacy' | 'modern' = 'legacy'): Promise<McpClient> {
  const client = await createMcpClient({ command: process.execPath, args: [FIXTURE, sdk], era })
  open.push(client)
  return client
}

const SERVERS = [
  ['v1', 'legacy'],
  ['v2', 'legacy'],
  ['v2', 'modern'],
] as const

describe.each(SERVERS)(`a server of the official SDK %s in the %s era: ${promise('KIT-12')}`, (sdk, era) => {
  test.each(['throw', 'return'])('ends the run by a fatal error that a tool %ss', async (how) => {
    for (const words of ['plain', 'python', 'jlowin', 'nested']) {
      const client = await connect(sdk, era)
      const tool = `${how}_${words}`
      await expect(client.callTool(tool)).rejects.toThrow(new FatalToolError(tool, 'disk full'))
      expect(client.isAborted).toBe(true)
      await client.close()
    }
  })

  test('continues after every other error, and whatever a result says', async () => {
    const client = await connect(sdk, era)
    for (const tool of ['throw_mild', 'return_mild', 'throw_middle', 'return_middle'])
      await expect(client.callTool(tool)).rejects.toThrow(RetryableToolError)
    for (const words of ['plain', 'python', 'nested']) expect(await client.callTool(`say_${words}`)).toBeDefined()
    expect(client.isAborted).toBe(false)
  })
})

test('a process that ends is reported as a lost connection, now and later', async () => {
  const script = `process.stdin.on('data', (line) => {
    const { id, method } = JSON.parse(String(line).split('\\n')[0])
    if (method !== 'initialize') process.exit(3)
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`
  const client = await createMcpClient({ command: process.execPath, args: ['-e', script] })
  open.push(client)
  await expect(client.callTool('any')).rejects.toMatchObject({ code: 'UPSTREAM_DIED' })
  await expect(client.listTools()).rejects.toMatchObject({ code: 'UPSTREAM_DIED' })
})

test('a command that does not exist is reported with its name', async () => {
  await expect(createMcpClient({ command: 'no-such-program-here' })).rejects.toMatchObject({
    code: 'UPSTREAM_UNAVAILABLE',
    message: expect.stringContaining('no-such-program-here'),
  })
})
