import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { mintBearer } from '../profiles/profile-bench.ts'
import { promise } from '../promises.ts'
import { type ApprovalsBench, openApprovals } from './approvals-bench.ts'

describe(`${promise('AG-17')} the same call, made again while it waits,`, () => {
  let bench: ApprovalsBench
  beforeAll(async () => {
    bench = await openApprovals()
  })
  afterAll(() => bench.close())

  const twice = async (agent: string, id: string) => {
    const client = await LegacyClient.open(bench.gateway.mcp, await mintBearer(bench.gateway, { agent }))
    const first = client.call('counter_delete_it', { id })
    const [request] = await bench.waiting()
    const second = client.call('counter_delete_it', { id })
    // Once a later call is answered, this one waits too.
    await client.call('counter_list_it', { id: 'later' })
    return { request, calls: [first, second] }
  }

  it('joins the pending request of an agent that cannot wait; the approval is valid for one of them', async () => {
    const { request, calls } = await twice('continue', 'patient')
    await bench.waiting(1)
    await bench.answer(request?.id, { answer: 'once' })
    expect(await Promise.race(calls)).toMatchObject({ content: [{ text: 'patient' }] })
    const [next] = await bench.waiting()
    expect(next?.id).not.toBe(request?.id)
    expect(bench.made()).toEqual(['later', 'patient'])
    await bench.answer(next?.id, { answer: 'deny' })
    await Promise.all(calls)
  })

  it('creates a new request for an agent that can wait', async () => {
    const { calls } = await twice('claude-code', 'lasting')
    const requests = await bench.waiting(2)
    for (const { id } of requests) await bench.answer(id, { answer: 'once' })
    for (const call of calls) expect(await call).toMatchObject({ content: [{ text: 'lasting' }] })
  })
})
