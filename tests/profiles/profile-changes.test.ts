import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StreamableHTTPClientTransport as ModernHttp, Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { Client as LegacySdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import type { RunningGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { askApi, type Executors, mintBearer, runProfiles, writeProfiles } from './profile-bench.ts'

const selecting = (reviewer: readonly string[], ci: readonly string[] = ['docs']): Executors => ({
  CODEX: { REVIEWER: { selected_mcp_tools: reviewer }, CI: { selected_mcp_tools: ci } },
})

interface Listener {
  /** What was listed after each notice. */
  readonly lists: readonly (readonly string[])[]
  /** Whether every notice so far was followed by its list. */
  isUpToDate(): boolean
  call(name: string): Promise<string>
  close(): Promise<void>
}

const identity = { name: 'listener', version: '1.0.0' }
const namesOf = (tools: readonly { name: string }[]): readonly string[] => tools.map(({ name }) => name).sort()
const textOf = (result: unknown): string => JSON.stringify(result)

/** Counts what comes, before an SDK sees it. */
function countNotices(transport: { onmessage?: unknown }): () => number {
  let count = 0
  transport.onmessage = ({ method }: { method?: string }): void => {
    if (method === 'notifications/tools/list_changed') count++
  }
  return () => count
}

async function legacyListener(url: string, headers: Record<string, string>): Promise<Listener> {
  const client = new LegacySdkClient(identity)
  const transport = new LegacyHttp(new URL(url), { requestInit: { headers } })
  const notices = countNotices(transport)
  const lists: (readonly string[])[] = []
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    lists.push(namesOf((await client.listTools()).tools))
  })
  await client.connect(transport as never)
  return {
    lists,
    isUpToDate: () => lists.length === notices(),
    call: async (name) => textOf(await client.callTool({ name, arguments: {} })),
    close: () => client.close(),
  }
}

async function modernListener(url: string, headers: Record<string, string>): Promise<Listener> {
  const transport = new ModernHttp(new URL(url), { requestInit: { headers } })
  const notices = countNotices(transport)
  const lists: (readonly string[])[] = []
  const onChanged = (_error: Error | null, tools: { name: string }[] | null): void => {
    if (tools) lists.push(namesOf(tools))
  }
  const client = new ModernSdkClient(identity, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    listChanged: { tools: { onChanged, debounceMs: 0 } },
  })
  await client.connect(transport)
  return {
    lists,
    isUpToDate: () => lists.length === notices(),
    call: async (name) => textOf(await client.callTool({ name, arguments: {} })),
    close: () => client.close(),
  }
}

describe(`${promise('AG-12')} a changed profile (${promise('GW-19')})`, () => {
  let gateway: RunningGateway
  const undo: (() => Promise<void>)[] = []
  beforeEach(async () => {
    gateway = await runProfiles(selecting(['files/read', 'docs/search']))
    undo.push(() => gateway.stop())
  })
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step()
  })

  const listen = async (open: typeof legacyListener, profile: string): Promise<Listener> => {
    const listener = await open(gateway.mcp, await mintBearer(gateway, { agent: 'codex', profile }))
    undo.push(() => listener.close())
    return listener
  }
  const change = async (executors: Executors): Promise<void> => {
    const before = profileChanges().length
    writeProfiles(gateway, executors)
    await eventually(
      () => profileChanges().length,
      (now) => now > before,
    )
  }
  /**
   * These are the tools that it found last, and no notice is on its way. A list that was read because of an earlier
   * change may have them already: the notice of the last change is sent 50 ms after it, before later requests are read.
   */
  const untilLast = async (listener: Listener, names: string): Promise<void> => {
    await delay(100)
    for (let count = 0; count < 3; count++) await askApi(gateway, '/api/status')
    await eventually(
      () => ({ last: listener.lists.at(-1)?.join(), isUpToDate: listener.isUpToDate() }),
      ({ last, isUpToDate }) => last === names && isUpToDate,
    )
  }
  const profileChanges = () => gateway.records().filter(({ type }) => type === 'PROFILES_CHANGED')

  it.each([
    ['a v1 client', legacyListener],
    ['a modern v2 client', modernListener],
  ])('notifies %s of that profile and nobody else, and applies to its calls', async (_title, open) => {
    const [own, other] = await Promise.all([listen(open, 'reviewer'), listen(open, 'ci')])
    // The streams on which news come are open once news have come over them.
    await eventually(
      async () => {
        await change(selecting(['files/read'], ['docs/search']))
        await change(selecting(['files/read', 'docs/search'], ['docs']))
        return [own.lists.length, other.lists.length]
      },
      (received) => received.every(Boolean),
    )
    // Lists that they had not seen before.
    await change(selecting(['docs/delete_*'], ['docs/delete_*']))
    await Promise.all([own, other].map((listener) => untilLast(listener, 'docs_delete_page')))
    const before = other.lists.length
    writeProfiles(gateway, selecting(['files/write'], ['docs/delete_*']))
    await untilLast(own, 'files_write')
    expect(await own.call('files_read')).toContain('The profile codex.reviewer (profiles.json:')
    expect(await own.call('files_write')).not.toContain('CALL_DENIED')
    expect(other.lists).toHaveLength(before)
    expect(profileChanges().at(-1)).toMatchObject({ profiles: ['codex.reviewer'] })
  })

  it('that leaves the same tools notifies nobody', async () => {
    const own = await listen(legacyListener, 'reviewer')
    // What the servers offer is known once both lists were heard, and the stream on which news come is open.
    await eventually(
      async () => {
        await change(selecting(['files/write']))
        await change(selecting(['files/read', 'docs/search']))
        return own.lists.map((list) => list.join())
      },
      (received) => received.includes('files_write'),
    )
    await change(selecting(['files', '!files/write']))
    await untilLast(own, 'files_delete_all,files_read')
    const before = own.lists.length
    await change(selecting(['files/re*', 'files/delete_*', '!docs/delete_*']))
    expect(await own.call('files_read')).not.toContain('CALL_DENIED')
    await change(selecting(['files/write']))
    await untilLast(own, 'files_write')
    expect(own.lists).toHaveLength(before + 1)
  })

  it('with a mistake changes nothing, and is reported with line and column', async () => {
    const headers = await mintBearer(gateway, { agent: 'codex', profile: 'reviewer' })
    writeFileSync(
      join(gateway.home, 'profiles.json'),
      '{"executors": {"CODEX": {"REVIEWER": {"selected_mcp_tools": 1}}}}',
    )
    await eventually(
      () => gateway.stderr(),
      (words) => words.includes('profiles.json:1:39'),
    )
    const { message } = await modernRequest(gateway.mcp, 'tools/list', {}, headers)
    expect(namesOf(message.result.tools)).toEqual(['docs_search', 'files_read'])
  })

  it('whose file was removed allows nothing more', async () => {
    const headers = await mintBearer(gateway, { agent: 'codex', profile: 'reviewer' })
    await rm(join(gateway.home, 'profiles.json'))
    await eventually(
      () => gateway.stderr(),
      (words) => words.includes('profiles.json is missing'),
    )
    const { message } = await modernRequest(gateway.mcp, 'tools/list', {}, headers)
    expect(namesOf(message.result.tools)).toEqual(['docs_search', 'files_read'])
  })

  it('while fifty clients call lets through only what it selects, and every call is answered', async () => {
    const headers = await mintBearer(gateway, { agent: 'codex', profile: 'reviewer' })
    const clients = await Promise.all(Array.from({ length: 50 }, () => LegacyClient.open(gateway.mcp, headers)))
    let isChanging = true
    const calls = clients.map(() => 0)
    const calling = clients.map(async (client, index) => {
      const seen = new Set<boolean>()
      for (; isChanging; calls[index] = Number(calls[index]) + 1)
        seen.add((await client.call('docs_search')).isError === true)
      return seen
    })
    for (let round = 1; round <= 6; round++) {
      writeProfiles(gateway, selecting(round % 2 ? ['files/read'] : ['docs/search']))
      await eventually(profileChanges, ({ length }) => length >= round)
      // Of the next two calls of each, the second was made after the change.
      const before = [...calls]
      await eventually(
        () => calls,
        (now) => now.every((count, index) => count >= Number(before[index]) + 2),
      )
    }
    isChanging = false
    for (const seen of await Promise.all(calling)) expect([...seen].sort()).toEqual([false, true])
    writeProfiles(gateway, selecting([]))
    await eventually(profileChanges, ({ length }) => length === 7)
    const last = await Promise.all(clients.map((client) => client.call('docs_search')))
    expect(last.every(({ isError }) => isError)).toBe(true)
  })
})
