import { afterEach, describe, expect, it } from 'vitest'
import { openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { promise } from '../promises.ts'
import {
  type Instance,
  listen,
  makeRoot,
  openPairedGateway,
  type PairedGateway,
  removeRoot,
  startInstance,
  stopInstance,
  untilPaired,
} from './paired-gateway.ts'

type Json = Record<string, any>

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

const newRoot = (): string => {
  const root = makeRoot()
  undo.push(() => removeRoot(root))
  return root
}

async function start(name: string, args: readonly string[] = []): Promise<Instance> {
  const instance = await startInstance(name, args)
  undo.push(() => stopInstance(instance))
  return instance
}

async function open(servers: Json, root = newRoot()): Promise<PairedGateway> {
  const paired = await openPairedGateway({ servers, root })
  undo.push(() => paired.close())
  return paired
}

const textIn = ({ result, error }: Json): string => result?.content?.[0]?.text ?? JSON.stringify(result ?? error)
const READ = { name: 'read', inputSchema: { type: 'object' } }
const saying = (text: string) => ({ read: { content: [{ type: 'text', text }] } })

describe(`a call that was decided before its session became private (${promise('SEN-15')})`, () => {
  it('goes to the isolated instance if it was not sent yet', async () => {
    const holding: { until?: Promise<void> } = {}
    const normal = await openModernUpstream({
      ...{ tools: [READ], results: saying('normal') },
      hold: ({ method }) => (method === 'server/discover' ? holding.until : undefined),
    })
    const isolated = await openModernUpstream({ tools: [READ], results: saying('isolated') })
    undo.push(() => Promise.all([normal.close(), isolated.close()]))
    const root = newRoot()
    const servers = { data: { url: normal.url, url_isolated: isolated.url } }
    const first = await openPairedGateway({ servers, root })
    await untilPaired(first)
    await first.close()
    // The list is known from the last run, so the call is decided, and waits until the normal instance is connected.
    let release = (): void => {}
    holding.until = new Promise((resolve) => {
      release = resolve
    })
    const paired = await open(servers, root)
    const answer = paired.call('s1', 'data_read', { text: 'late' })
    await eventually(
      () => paired.records('TOOL_CALL_STARTED').length,
      (count) => count === 1,
    )
    await paired.makePrivate('s1')
    release()
    expect(textIn(await answer)).toBe('isolated')
    expect(normal.of('tools/call')).toEqual([])
    expect(paired.records('TOOL_CALL_COMPLETED')).toMatchObject([{ server: 'data', instance: 'isolated' }])
  })
})

describe(`a task (${promise('SEN-15')})`, () => {
  const TASKS = { 'io.modelcontextprotocol/tasks': {} }
  const KNOWS_TASKS = { _meta: { 'io.modelcontextprotocol/clientCapabilities': { extensions: TASKS } } }

  it('belongs to the instance that made it', async () => {
    const openTasks = (name: string) =>
      openModernUpstream({
        tools: [READ],
        results: { read: { resultType: 'task', taskId: name, status: 'working', content: undefined } },
        extensions: TASKS,
        answers: { 'tasks/get': ({ taskId }) => ({ resultType: 'complete', taskId, status: `${name} knows it` }) },
      })
    const [normal, isolated] = [await openTasks('normal'), await openTasks('isolated')]
    undo.push(() => Promise.all([normal.close(), isolated.close()]))
    const paired = await open({ data: { url: normal.url, url_isolated: isolated.url } })
    await untilPaired(paired)
    const call = () => paired.request('s1', 'tools/call', { name: 'data_read', ...KNOWS_TASKS })
    const ask = (taskId: string) => paired.request('s1', 'tasks/get', { taskId })
    expect((await call()).result).toMatchObject({ taskId: 'normal' })
    expect((await ask('normal')).result).toMatchObject({ status: 'normal knows it' })
    await paired.makePrivate('s1')
    expect((await ask('normal')).error?.message).toMatch(
      /^This task belongs to the normal instance of server data, which a session with private data no longer reaches\./,
    )
    expect((await call()).result).toMatchObject({ taskId: 'isolated' })
    expect((await ask('isolated')).result).toMatchObject({ status: 'isolated knows it' })
    expect(normal.of('tasks/get')).toHaveLength(1)
  })
})

describe(`tools that the isolated instance does not offer, or not in the same way (${promise('SEN-15')})`, () => {
  it('are refused to private sessions, and reported once, until they agree', async () => {
    const normal = await start('normal')
    const isolated = await start('isolated', ['--without', 'export', '--other', 'read'])
    const paired = await open({ data: { url: normal.url, url_isolated: isolated.url } })
    await untilPaired(paired)
    await paired.makePrivate('s1')
    const [lacking, differing] = [await paired.call('s1', 'data_export'), await paired.call('s1', 'data_read')]
    expect(textIn(lacking)).toMatch(
      /\[COUNTERPART_DIFFERS\] The session has private data, so its calls go to data \(isolated\) only, which does not offer export\./,
    )
    expect(textIn(differing)).toMatch(/which defines read differently from what was reviewed\. Both instances must be/)
    await isolated.control('/release', 'x')
    expect(textIn(await paired.call('s1', 'data_wait', { id: 'x' }))).toBe('isolated')
    expect(textIn(await paired.call('s2', 'data_export'))).toBe('normal')
    const arrived = [...(await normal.received('tools/call')), ...(await isolated.received('tools/call'))]
    expect(arrived.map(({ params }) => params.name)).toEqual(['export', 'wait'])
    expect(paired.records('COUNTERPART_DRIFTED')).toMatchObject([
      { server: 'data', missing: ['export'], differing: ['read'] },
    ])
    expect(paired.warnings.filter((text) => text.includes('(isolated)'))).toEqual([
      'data (isolated) differs from the normal instance: it does not offer export; it has other definitions of read. Sessions with private data cannot call these tools.',
    ])
    await isolated.control('/offer', 'export')
    await isolated.control('/offer', 'tool-of-its-own')
    await eventually(
      () => paired.records('COUNTERPART_DRIFTED').map(({ missing, differing }) => [missing, differing]),
      (drifts) => JSON.stringify(drifts) === '[[["export"],["read"]],[[],["read"]]]',
    )
    expect(textIn(await paired.call('s1', 'data_export'))).toBe('isolated')
    expect((await paired.request('s1', 'tools/list')).result.tools.map(({ name }: Json) => name)).not.toContain(
      'data_tool_of_its_own',
    )
  })

  it('are shown by `sallyport servers`', async () => {
    const normal = await start('normal')
    const isolated = await start('isolated', ['--without', 'export'])
    const root = newRoot()
    const servers = { data: { url: normal.url, url_isolated: isolated.url } }
    await (await openPairedGateway({ servers, root })).close()
    const args = ['--home', root, '--state', `${root}/other-state`]
    const { stdout } = await runCommand(['servers', ...args])
    expect(stdout).toMatch(/^data +http +ready /m)
    expect(stdout).toMatch(/^data \(isolated\) +http +ready .* does not offer export$/m)
    const { stdout: details } = await runCommand(['servers', 'data', ...args])
    expect(details).toMatch(/^isolated instance +ready, since /m)
    expect(details).toContain(isolated.url)
    const { stdout: json } = await runCommand(['servers', 'data', '--json', ...args])
    expect(JSON.parse(json)).toMatchObject({
      counterpart: { state: 'ready', missing: ['export'], differing: [] },
      config: { url: normal.url, urlIsolated: isolated.url },
    })
  })
})

describe(`a normal instance that was never reached (${promise('SEN-15')})`, () => {
  it('leaves the listing to the isolated one, and its calls fail', async () => {
    const [gone, isolated] = [await start('gone'), await start('isolated')]
    await gone.kill()
    const paired = await open({ data: { url: gone.url, url_isolated: isolated.url } })
    await eventually(
      async () => JSON.stringify((await paired.request('s1', 'tools/list')).result),
      (text) => text.includes('data_read'),
    )
    expect(textIn(await paired.call('s1', 'data_read'))).toMatch(/Server data is restarting/)
    await paired.makePrivate('s1')
    expect(textIn(await paired.call('s1', 'data_read'))).toBe('isolated')
    expect(paired.records('COUNTERPART_DRIFTED')).toEqual([])
  })
})

describe(`a change of url_isolated (${promise('SEN-15')})`, () => {
  it('connects, replaces or ends the isolated instance, and leaves the normal one of a pair alone', async () => {
    const [normal, first, second] = [await start('normal'), await start('first'), await start('second')]
    const entry = { url: normal.url }
    const paired = await open({ data: entry })
    await eventually(
      () => paired.gateway.fleet.get('data')?.status().state,
      (state) => state === 'ready',
    )
    const read = async (session: string): Promise<string> => textIn(await paired.call(session, 'data_read'))
    const client = await listen(paired, 's1')
    await paired.makePrivate('s1')
    // Without an isolated instance, nothing that may reach out gets the calls of private sessions.
    expect(await read('s1')).toMatch(/PRIVATE_SESSION/)
    await paired.reload({ data: { ...entry, url_isolated: first.url } })
    expect(await read('s1')).toBe('first')
    await eventually(
      async () => JSON.stringify(await first.received('subscriptions/listen')),
      (text) => text.includes('notes://all'),
    )
    await paired.reload({ data: { ...entry, urlIsolated: second.url } })
    expect(await read('s1')).toBe('second')
    expect(await read('s2')).toBe('normal')
    await paired.reload({ data: entry })
    expect(await read('s1')).toMatch(/PRIVATE_SESSION/)
    client.stop()
    expect(await normal.received('server/discover')).toHaveLength(2)
    expect(paired.records('CONFIG_RELOADED')).toMatchObject([
      { added: [], restarted: ['data'], removed: [] },
      { added: [], restarted: ['data (isolated)'], removed: [] },
      { added: [], restarted: [], removed: ['data (isolated)'] },
    ])
  })

  it('does not let a call to the only instance go on, if the session became private while it waited', async () => {
    const holding: { until?: Promise<void> } = {}
    const normal = await openModernUpstream({
      ...{ tools: [READ], results: saying('normal') },
      hold: ({ method }) => (method === 'server/discover' ? holding.until : undefined),
    })
    const isolated = await openModernUpstream({ tools: [READ], results: saying('isolated') })
    undo.push(() => Promise.all([normal.close(), isolated.close()]))
    const root = newRoot()
    const first = await openPairedGateway({ servers: { data: { url: normal.url } }, root })
    await eventually(
      () => first.gateway.fleet.get('data')?.status().state,
      (state) => state === 'ready',
    )
    await first.close()
    let release = (): void => {}
    holding.until = new Promise((resolve) => {
      release = resolve
    })
    const paired = await open({ data: { url: normal.url } }, root)
    const answer = paired.call('s1', 'data_read', { text: 'late' })
    await eventually(
      () => paired.records('TOOL_CALL_STARTED').length,
      (count) => count === 1,
    )
    await paired.makePrivate('s1')
    await paired.reload({ data: { url: normal.url, url_isolated: isolated.url } })
    release()
    expect((await answer).result).toMatchObject({ isError: true })
    await untilPaired(paired)
    expect(textIn(await paired.call('s1', 'data_read'))).toBe('isolated')
    expect(normal.of('tools/call')).toEqual([])
  })
})
