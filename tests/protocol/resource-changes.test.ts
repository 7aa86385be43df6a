import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FaultBench, openFaultBench, stdioEntry, textOf } from '../faults/fault-bench.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const entry = (uri: string, more: object = {}): object => ({
  command: process.execPath,
  args: [join(REPOSITORY, 'tests/fixtures/resource-server.mjs'), uri],
  ...more,
})

describe(`${promise('GW-26')} updates of a resource`, () => {
  let bench: FaultBench

  beforeAll(async () => {
    const servers = {
      owner: entry('a://owned'),
      rival: entry('b://other'),
      shut: entry('c://shut', { exclude_tools: ['*'] }),
    }
    bench = await openFaultBench({ ...servers, plain: stdioEntry() })
    await Promise.all(['owner', 'rival', 'shut', 'plain'].map((id) => bench.until(id, 'ready')))
  })

  afterAll(() => bench.close())

  const updates = (): readonly unknown[] =>
    bench.window.received
      .filter(({ method }) => method === 'notifications/resources/updated')
      .map(({ params }) => params.uri)
  const announce = async (server: string, uri: string): Promise<string> =>
    textOf(await bench.window.call(`${server}_announce`, { uri }))

  it('are only accepted from its owner', async () => {
    expect(await bench.window.request('resources/subscribe', { uri: 'a://owned' })).toMatchObject({ result: {} })
    // What a server says before its answer reaches the window before that answer.
    expect(await announce('rival', 'a://owned')).toBe('announced')
    expect(updates()).toEqual([])
    expect(await announce('owner', 'a://owned')).toBe('announced')
    expect(updates()).toEqual(['a://owned'])
  })

  it('do not reach callers that were denied it', async () => {
    const { error } = await bench.window.request('resources/subscribe', { uri: 'c://shut' })
    expect(error).toMatchObject({ data: { code: 'CALL_DENIED' } })
    const denied = bench.gateway.records().filter(({ type }) => type === 'POLICY_DENIED')
    expect(denied).toMatchObject([{ method: 'resources/subscribe', server: 'shut', tool_name: 'c://shut' }])
  })
})
