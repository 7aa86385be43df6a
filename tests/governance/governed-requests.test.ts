import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModernHttp } from '../harness/asked-client.ts'
import type { LegacyClient } from '../harness/mcp-client.ts'
import { modernRequest } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'
import {
  fixture,
  type GovernedBench,
  makeFolder,
  npmServer,
  openClient,
  openGoverned,
  outcomeOf,
} from './governed-bench.ts'

const GW26 = promise('GW-26')

describe(`${GW26} path rules hold for everything that names a file`, () => {
  const folder = makeFolder()
  const open = `${folder.path}/open`
  let bench: GovernedBench
  let client: LegacyClient

  beforeAll(async () => {
    const allowed = { allowed_paths: [`${open}/**`], forbidden_paths: ['**/secret/**'] }
    bench = await openGoverned({
      servers: { library: fixture('library-server.mjs', folder.path) },
      tools: { 'mcp__library__resources/read': allowed, 'library/prompts/get': allowed },
    })
    client = await openClient(bench)
  })

  afterAll(async () => {
    await bench.close()
    folder.remove()
  })

  const requestsSeen = async (): Promise<number> =>
    JSON.parse((await client.call('library_list_requests')).content[0].text).length

  const completion = (path: string): object => ({
    ref: { type: 'ref/resource', uri: 'file://{+path}' },
    argument: { name: 'path', value: path },
  })
  const known = (path: string): object => ({
    ref: { type: 'ref/resource', uri: 'file://{+path}' },
    argument: { name: 'line', value: '1' },
    context: { arguments: { path } },
  })
  const WAYS: readonly (readonly [string, string, (path: string) => object])[] = [
    ['a read', 'resources/read', (path) => ({ uri: `file://${path}` })],
    ['a subscription', 'resources/subscribe', (path) => ({ uri: `file://${path}` })],
    ['a completion', 'completion/complete', completion],
    ['a completion with values of before', 'completion/complete', known],
    ['a prompt', 'prompts/get', (path) => ({ name: 'library_explain', arguments: { path } })],
    [
      'a completion for a prompt',
      'completion/complete',
      (value) => ({ ref: { type: 'ref/prompt', name: 'library_explain' }, argument: { name: 'path', value } }),
    ],
  ]

  it.each(WAYS)('lets %s pass that stays inside, and sends it on', async (_way, method, params) => {
    const before = await requestsSeen()
    expect(outcomeOf(await client.request(method, params(`${open}/a.txt`)))).toBe('ok')
    expect(await requestsSeen()).toBe(before + 1)
  })

  const OUTSIDE = [
    `${open}/../b.txt`,
    `${open}-evil/a.txt`,
    `${open}/secret/a.txt`,
    `${open}/%2e%2e/b.txt`,
    '/etc/passwd',
  ]
  it.each(WAYS)('refuses %s that leads outside, and records it', async (_way, method, params) => {
    const before = await requestsSeen()
    for (const path of OUTSIDE) {
      expect(outcomeOf(await client.request(method, params(path))), path).toBe('ARGUMENTS_FORBIDDEN')
      expect(bench.last('POLICY_DENIED')).toMatchObject({
        method,
        server: 'library',
        decided_by: { step: 'arguments' },
      })
    }
    expect(await requestsSeen()).toBe(before)
  })

  it('refuses it to a modern client, and acknowledges none of its subscriptions', async () => {
    const answer = await modernRequest(bench.gateway.mcp, 'resources/read', { uri: 'file:///etc/passwd' })
    expect(outcomeOf(answer)).toBe('ARGUMENTS_FORBIDDEN')
    const uris = ['file:///etc/passwd', `file://${open}/a.txt`]
    const listening = new ModernHttp(bench.gateway.mcp).open(
      { notifications: { resourceSubscriptions: uris } },
      'subscriptions/listen',
    )
    const { params } = await listening.next(({ method }) => method === 'notifications/subscriptions/acknowledged')
    expect(params.notifications.resourceSubscriptions).toEqual([`file://${open}/a.txt`])
    await listening.close()
  })
})

describe(`${GW26} an entry for a method of a server`, () => {
  let bench: GovernedBench
  let client: LegacyClient
  let uri: string

  beforeAll(async () => {
    bench = await openGoverned({ servers: { everything: npmServer('everything') } })
    client = await openClient(bench)
    const { message } = await client.request('resources/list')
    uri = message.result.resources[0].uri
  })

  afterAll(() => bench.close())

  const read = async (): Promise<string> => outcomeOf(await client.request('resources/read', { uri }))
  const subscribe = async (): Promise<string> => outcomeOf(await client.request('resources/subscribe', { uri }))
  const prompt = async (): Promise<string> =>
    outcomeOf(await client.request('prompts/get', { name: 'everything_simple_prompt' }))
  const complete = async (): Promise<string> => {
    const ref = { type: 'ref/prompt', name: 'everything_completable_prompt' }
    return outcomeOf(await client.request('completion/complete', { ref, argument: { name: 'department', value: 'E' } }))
  }
  const all = async (): Promise<readonly string[]> => [
    await read(),
    await subscribe(),
    await prompt(),
    await complete(),
  ]

  it('is not needed in mode NORMAL', async () => {
    expect(await all()).toEqual(['ok', 'ok', 'ok', 'ok'])
  })

  it('hides what it covers, in lists too', async () => {
    await bench.writeTools({ 'mcp__everything__resources/read': { hidden: true } })
    expect(await all()).toEqual(['CALL_DENIED', 'CALL_DENIED', 'ok', 'ok'])
    expect((await client.request('resources/list')).message.result.resources).toEqual([])
  })

  it('restricts one method and not the others', async () => {
    const never = { allowed_in_modes: [] }
    await bench.writeTools({
      'mcp__everything__resources/subscribe': never,
      'mcp__everything__completion/complete': { forbidden_in_modes: ['NORMAL'] },
    })
    expect(await all()).toEqual(['ok', 'MODE_FORBIDS', 'ok', 'MODE_FORBIDS'])
  })

  it('counts a method and not each URI of it', async () => {
    await bench.writeTools({ 'mcp__everything__resources/read': { rate_limit_per_minute: 2 } })
    const uris = (await client.request('resources/list')).message.result.resources.map(
      (one: { uri: string }) => one.uri,
    )
    const outcomes = []
    for (const one of uris.slice(0, 3)) outcomes.push(outcomeOf(await client.request('resources/read', { uri: one })))
    expect(outcomes).toEqual(['ok', 'ok', 'RATE_LIMITED'])
    expect(bench.last('POLICY_DENIED')).toMatchObject({ method: 'resources/read', decided_by: { step: 'limits' } })
  })

  it('may require approval, and shows what is requested', async () => {
    await bench.writeTools({ 'mcp__everything__resources/read': { requires_approval: true } })
    expect(await read()).toBe('APPROVAL_EXPIRED')
    expect(bench.last('APPROVAL_REQUESTED')).toMatchObject({ method: 'resources/read', arguments: { uri } })
  })

  it('keeps what is essential in a lockdown, with approval, and everything that is read in recovery', async () => {
    await bench.writeTools({ 'mcp__everything__prompts/get': { essential: true } })
    await bench.setMode('LOCKDOWN')
    expect(await all()).toEqual(['MODE_FORBIDS', 'MODE_FORBIDS', 'APPROVAL_EXPIRED', 'APPROVAL_EXPIRED'])
    await bench.setMode('RECOVERY')
    expect(await all()).toEqual(['ok', 'ok', 'ok', 'ok'])
  })
})
