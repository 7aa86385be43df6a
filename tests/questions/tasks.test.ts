import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { type ModernUpstream, openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { endProcess, makePlace, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const TASKS = { 'io.modelcontextprotocol/tasks': {} }
const SLOW = { name: 'slow', inputSchema: { type: 'object' } }

/** A server whose tool makes a task of this id, and that says its own name when it is asked for one. */
function openTaskServer(name: string, taskId: string): Promise<ModernUpstream> {
  return openModernUpstream({
    tools: [SLOW],
    results: { slow: { resultType: 'task', taskId, status: 'working', content: undefined } },
    extensions: TASKS,
    answers: { 'tasks/get': (params) => ({ resultType: 'complete', taskId: params.taskId, status: name }) },
  })
}

/** What a client declares that knows tasks. */
const KNOWS_TASKS = { _meta: { 'io.modelcontextprotocol/clientCapabilities': { extensions: TASKS } } }

let first: ModernUpstream
let second: ModernUpstream
let gateway: RunningGateway

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const ask = (token: string, method: string, params: object) =>
  modernRequest(gateway.mcp, method, params, bearer(token)).then(({ message }) => message)

async function tokenOf(user: string): Promise<string> {
  const { home, state } = gateway
  const { stdout } = await runCommand(['token', 'create', '--agent', user, '--home', home, '--state', state])
  return stdout.trim()
}

beforeAll(async () => {
  first = await openTaskServer('first', 'same')
  second = await openTaskServer('second', 'same')
  const mcpServers = { first: { url: first.url }, second: { url: second.url } }
  gateway = await runGateway({ config: { mcpServers }, args: [] })
  await eventually(
    () => ask(gateway.token('agent'), 'tools/list', {}),
    (message) => /first_slow.*second_slow/.test(JSON.stringify(message)),
  )
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([first.close(), second.close()])
})

describe(`a task (${promise('GW-17')})`, () => {
  it('is declared as the servers declare it', async () => {
    const { result } = await ask(gateway.token('agent'), 'server/discover', {})
    expect(result.capabilities.extensions).toEqual(TASKS)
  })

  it('is requested from the server that created it, even if two servers use the same id', async () => {
    const [ann, bob] = [await tokenOf('ann'), await tokenOf('bob')]
    expect((await ask(ann, 'tools/call', { name: 'first_slow', ...KNOWS_TASKS })).result).toMatchObject({
      resultType: 'task',
    })
    await ask(bob, 'tools/call', { name: 'second_slow', ...KNOWS_TASKS })
    expect((await ask(ann, 'tasks/get', { taskId: 'same' })).result).toMatchObject({ status: 'first' })
    expect((await ask(bob, 'tasks/get', { taskId: 'same' })).result).toMatchObject({ status: 'second' })
    expect(first.of('tasks/get').at(-1)?.headers['mcp-name']).toBe('same')
    const asked = gateway.records().filter(({ method }) => method === 'tasks/get')
    expect(asked.map(({ tool_name }) => tool_name)).toContain('mcp__second__slow')
  })

  it('of another caller does not exist', async () => {
    const eve = await tokenOf('eve')
    const before = first.of('tasks/get').length + second.of('tasks/get').length
    for (const taskId of ['same', 'unheard of'])
      expect((await ask(eve, 'tasks/get', { taskId, ...KNOWS_TASKS })).error).toMatchObject({ code: -32602 })
    expect(first.of('tasks/get').length + second.of('tasks/get').length).toBe(before)
  })

  it('is refused for a client that did not declare tasks, with the reason', async () => {
    const { error } = await ask(await tokenOf('eve'), 'tasks/get', { taskId: 'unheard of' })
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: TASKS } } })
    const { result } = await ask(await tokenOf('eve'), 'tools/call', { name: 'first_slow' })
    expect(result._meta['sallyport/error']).toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
  })
})

it(`a task of an unknown tool is requested from no server (${promise('GW-17')})`, async () => {
  const only = await openTaskServer('only', 'from before')
  onTestFinished(() => only.close())
  const place = makePlace({ mcpServers: { only: { url: only.url } } })
  onTestFinished(() => place.remove())
  const earlier = await runGateway({ place })
  const made = await modernRequest(earlier.mcp, 'tools/call', { name: 'only_slow', ...KNOWS_TASKS })
  expect(made.message.result).toMatchObject({ resultType: 'task', taskId: 'from before' })
  await endProcess(earlier.child)
  const later = await runGateway({ place })
  onTestFinished(() => endProcess(later.child))
  await eventually(
    () => modernRequest(later.mcp, 'tools/list'),
    ({ message }) => message.result.tools.some(({ name }: { name: string }) => name === 'only_slow'),
  )
  const { message } = await modernRequest(later.mcp, 'tasks/get', { taskId: 'from before', ...KNOWS_TASKS })
  expect(message.error).toMatchObject({ code: -32602 })
  expect(only.of('tasks/get')).toEqual([])
})
