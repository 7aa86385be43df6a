import { spawn } from 'node:child_process'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { refusalOf } from '../approvals/approvals-bench.ts'
import { createOfferingServer, type OfferingServer } from '../governance/offering-server.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import {
  endProcess,
  makePlace,
  type Place,
  REPOSITORY,
  type RunningGateway,
  runGateway,
} from '../harness/run-gateway.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const SCHEMA = { type: 'object', properties: { id: { type: 'string' } } }
const toolsNamed = (head: string, count: number): readonly object[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `get_${head}_${at}`,
    description: 'Gets it.',
    inputSchema: SCHEMA,
  }))

/** The tools of a server that nobody here wrote, as it lists them. */
async function honestTools(): Promise<readonly { readonly name: string; readonly description: string }[]> {
  const program = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')
  const client = new StdioClient(spawn(process.execPath, [program]))
  onTestFinished(() => client.kill())
  await client.initialize()
  return (await client.request('tools/list')).result.tools
}

function placeWith(servers: Readonly<Record<string, OfferingServer>>, file?: string): Place {
  const entries = Object.entries(servers).map(([id, { entry }]) => [id, entry])
  const place = makePlace({ governance: {}, mcp_servers: Object.fromEntries(entries) })
  onTestFinished(() => place.remove())
  if (file !== undefined) writeFileSync(join(place.home, 'tools.yaml'), file)
  return place
}

async function run(place: Place): Promise<RunningGateway> {
  const gateway = await runGateway({ place })
  onTestFinished(() => endProcess(gateway.child))
  return gateway
}

const sallyport = ({ home, state }: Place, ...args: readonly string[]) =>
  runCommand([...args, '--home', home, '--state', state])

const recorded = (
  gateway: RunningGateway,
  type: string,
  isWanted: (record: Record<string, any>) => boolean = () => true,
) =>
  eventually(
    () => gateway.records().find((record) => record.type === type && isWanted(record)),
    (record) => record !== undefined,
    TIMEOUT_MS,
  )

/** That somebody was asked about a call; then it is denied. */
async function isAsked(gateway: RunningGateway, client: LegacyClient, tool: string): Promise<boolean> {
  const answer = client.call(tool, { id: '1' })
  const isOf = ({ tool_name: name }: Record<string, any>): boolean => name === `mcp__${tool.replace('_', '__')}`
  const request = await recorded(gateway, 'APPROVAL_REQUESTED', isOf)
  await sallyport(gateway, 'approvals', 'deny', String(request?.approval))
  return refusalOf(await answer) === 'APPROVAL_DENIED'
}

const entriesOf = ({ home }: Place, server: string): number =>
  readFileSync(join(home, 'tools.yaml'), 'utf8').match(new RegExp(`^  mcp__${server}__`, 'gm'))?.length ?? 0

/** Thousands of tools take their time on a busy machine. */
const TIMEOUT_MS = 120_000

describe(`${promise('GOV-32')} a server that offers 20,000 tools`, { timeout: 400_000 }, () => {
  it('gets no more than its share, needs approval beyond it, and takes nothing from others, also after a restart', async () => {
    const honest = await honestTools()
    const many = createOfferingServer({ tools: toolsNamed('thing', 20_000) })
    const memory = createOfferingServer({ tools: honest })
    const place = placeWith({ many, memory })
    const gateway = await run(place)
    await eventually(
      () => gateway.records().reduce((sum, { type, count }) => sum + (type === 'TOOLS_WRITTEN' ? Number(count) : 0), 0),
      (count) => count >= 5_000 + honest.length,
      TIMEOUT_MS,
    )
    expect(entriesOf(place, 'many')).toBe(5_000)
    expect(entriesOf(place, 'memory')).toBe(honest.length)
    expect(statSync(join(place.home, 'tools.yaml')).size).toBeLessThan(8_000_000)
    const client = await LegacyClient.open(gateway.mcp)
    expect(await client.call('many_get_thing_4999', {})).toMatchObject({ content: [{ type: 'text' }] })
    expect(await isAsked(gateway, client, 'many_get_thing_19999')).toBe(true)
    // What has no entry is held to what it was, and so are those of the other server.
    const changed = { ...toolsNamed('thing', 20_000)[19_998], description: 'Gets something else.' }
    many.offer({ tools: [...toolsNamed('thing', 19_998), changed] })
    await recorded(gateway, 'DEFINITION_DRIFTED', ({ tool_name: name }) => name === 'mcp__many__get_thing_19998')
    expect(refusalOf(await client.call('many_get_thing_19998', {}))).toBe('DEFINITION_CHANGED')
    await endProcess(gateway.child)
    memory.offer({ tools: honest.map((tool) => ({ ...tool, description: `${tool.description} Changed.` })) })
    const again = await run(place)
    const next = await LegacyClient.open(again.mcp)
    await recorded(again, 'DEFINITION_DRIFTED', ({ server }) => server === 'memory')
    expect(refusalOf(await next.call('memory_read_graph', {}))).toBe('DEFINITION_CHANGED')
    expect(refusalOf(await next.call('many_get_thing_19998', {}))).toBe('DEFINITION_CHANGED')
    expect(many.used()).toEqual(['get_thing_4999'])
    expect(memory.used()).toEqual([])
  })
})

describe(`${promise('GOV-32')} a server that renames its tools at each change of its list`, {
  timeout: 400_000,
}, () => {
  it('fills neither the file nor the share of others', async () => {
    const many = createOfferingServer({ tools: toolsNamed('a', 4_000) })
    const wiki = createOfferingServer({ tools: [] })
    const place = placeWith({ many, wiki })
    const gateway = await run(place)
    await recorded(gateway, 'TOOLS_WRITTEN')
    for (const head of ['b', 'c', 'd']) {
      many.offer({ tools: toolsNamed(head, 4_000) })
      await recorded(gateway, 'TOOLS_DISCOVERED', ({ added }) => added.includes(`get_${head}_0`))
    }
    wiki.offer({ tools: toolsNamed('page', 3) })
    await recorded(gateway, 'TOOLS_WRITTEN', ({ tools }) => tools.includes('mcp__wiki__get_page_0'))
    expect(entriesOf(place, 'many')).toBe(4_500)
    expect(entriesOf(place, 'wiki')).toBe(3)
    const client = await LegacyClient.open(gateway.mcp)
    expect(await client.call('wiki_get_page_0', {})).toMatchObject({ content: [{ type: 'text' }] })
    expect(await isAsked(gateway, client, 'many_get_d_3999')).toBe(true)
  })
})

describe(`${promise('GOV-32')} a tools.yaml that cannot be appended to`, () => {
  it.each([
    ['in flow style', 'tools: {mcp__x__y: {hidden: true}}\n', 0o600],
    ['read-only', 'tools:\n  mcp__x__y: {hidden: true}\n', 0o444],
  ])('because it is %s pins tools to their first definition, until another is accepted', async (_, file, mode) => {
    const wiki = createOfferingServer({ tools: toolsNamed('page', 2) })
    const place = placeWith({ wiki }, file)
    chmodSync(join(place.home, 'tools.yaml'), mode)
    const gateway = await run(place)
    const client = await LegacyClient.open(gateway.mcp)
    await sallyport(gateway, 'tools')
    expect(await client.call('wiki_get_page_0', {})).toMatchObject({ content: [{ type: 'text' }] })
    const changed = toolsNamed('page', 2).map((tool) => ({ ...tool, description: 'Gets all of them.' }))
    wiki.offer({ tools: changed })
    await recorded(gateway, 'DEFINITION_DRIFTED')
    expect(refusalOf(await client.call('wiki_get_page_0', {}))).toBe('DEFINITION_CHANGED')
    await endProcess(gateway.child)
    const again = await run(place)
    const next = await LegacyClient.open(again.mcp)
    expect(refusalOf(await next.call('wiki_get_page_0', {}))).toBe('DEFINITION_CHANGED')
    const { message } = await next.request('tools/list')
    expect(message.result.tools.find(({ name }: { name: string }) => name === 'wiki_get_page_0').description).toBe(
      'Gets it.',
    )
    expect(await sallyport(again, 'tools', 'accept', 'wiki/get_page_0', '--yes')).toMatchObject({ code: 0 })
    expect(await next.call('wiki_get_page_0', {})).toMatchObject({ content: [{ type: 'text' }] })
    expect(refusalOf(await next.call('wiki_get_page_1', {}))).toBe('DEFINITION_CHANGED')
    expect(readFileSync(join(place.home, 'tools.yaml'), 'utf8')).toBe(file)
  })
})
