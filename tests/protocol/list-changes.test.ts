import { join } from 'node:path'
import { StreamableHTTPClientTransport as ModernHttp, Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacySdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it } from 'vitest'
import { MAIN, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const server = (name: string) => ({
  command: process.execPath,
  args: [join(REPOSITORY, `packages/gateway/demo/servers/${name}.mjs`)],
})

interface Listener {
  /** Resolves when it was told of a change and found the new tool listed. */
  readonly changed: Promise<void>
  close(): Promise<void>
}

const identity = { name: 'listener', version: '1.0.0' }
const relay = ({ home, state }: RunningGateway) => ({
  command: process.execPath,
  args: [MAIN, 'serve', '--stdio', '--home', home, '--state', state],
})
const hasClock = ({ tools }: { tools: { name: string }[] }): boolean =>
  tools.some(({ name }) => name === 'clock_current_time')

async function legacyListener(transport: LegacyHttp | LegacyStdio): Promise<Listener> {
  const client = new LegacySdkClient(identity)
  const changed = new Promise<void>((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      if (hasClock(await client.listTools())) resolve()
    })
  })
  await client.connect(transport as never)
  return { changed, close: () => client.close() }
}

async function modernListener(transport: ModernHttp | ModernStdio): Promise<Listener> {
  let onChange = (): void => {}
  const changed = new Promise<void>((resolve) => (onChange = resolve))
  const onChanged = (error: Error | null, tools: { name: string }[] | null): void => {
    if (!error && tools && hasClock({ tools })) onChange()
  }
  const client = new ModernSdkClient(identity, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    listChanged: { tools: { onChanged } },
  })
  await client.connect(transport)
  return { changed, close: () => client.close() }
}

const ways: readonly (readonly [string, (gateway: RunningGateway) => Promise<Listener>])[] = [
  ['a v1 client over HTTP', (gateway) => legacyListener(new LegacyHttp(new URL(gateway.mcp)))],
  ['a v1 client over stdio', (gateway) => legacyListener(new LegacyStdio(relay(gateway)))],
  ['a modern v2 client over HTTP', (gateway) => modernListener(new ModernHttp(new URL(gateway.mcp)))],
  ['a modern v2 client over stdio', (gateway) => modernListener(new ModernStdio(relay(gateway)))],
]

describe(`${promise('GW-19')} a change of the lists`, () => {
  const undo: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  it.each(ways)('reaches %s', async (_title, listen) => {
    const gateway = await runGateway({ config: { mcp_servers: { notes: server('notes') } } })
    undo.push(() => gateway.stop())
    const listener = await listen(gateway)
    undo.push(() => listener.close())
    gateway.writeConfig({ mcp_servers: { notes: server('notes'), clock: server('clock') } })
    await expect(listener.changed).resolves.toBeUndefined()
  })
})
