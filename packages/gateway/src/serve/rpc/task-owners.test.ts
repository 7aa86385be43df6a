import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import type { Offer } from '../../catalog/catalog.ts'
import { ANN, toTestFrame } from '../../pipeline/pipeline.test-kit.ts'
import { TaskOwners } from './task-owners.ts'

const BEN = { ...ANN, user: 'ben' }
const offerOf = (server: string): Offer => ({
  ...{ kind: 'tool', server, name: 'work', wire: `${server}_work`, recordName: `mcp__${server}__work` },
  ...{ original: {}, definition: {}, isMcp: true },
})
const [HERE, THERE] = [offerOf('here'), offerOf('there')]
const answer = (result: object) => ({ frame: toTestFrame(JSON.stringify({ jsonrpc: '2.0', id: 1, result })) })

describe(`${promise('GW-17')} a task`, () => {
  it.each([
    ['modern', { resultType: 'task', taskId: 't1' }],
    ['legacy', { task: { taskId: 't1' } }],
  ])('of the %s era is found only by the caller that created it', (_era, result) => {
    const tasks = new TaskOwners()
    tasks.remember(ANN, HERE, answer(result))
    expect(tasks.find(ANN, 't1')?.offer).toBe(HERE)
    expect(tasks.find(BEN, 't1')).toBeUndefined()
    expect(tasks.find(ANN, 't2')).toBeUndefined()
  })

  it('may have the same id as another caller’s', () => {
    const tasks = new TaskOwners()
    tasks.remember(ANN, HERE, answer({ taskId: 't1' }))
    tasks.remember(BEN, THERE, answer({ taskId: 't1' }))
    expect([tasks.find(ANN, 't1')?.offer, tasks.find(BEN, 't1')?.offer]).toEqual([HERE, THERE])
  })

  it('is forgotten after thousands of newer tasks', () => {
    const tasks = new TaskOwners()
    for (let id = 0; id <= 10_000; id++) tasks.remember(ANN, HERE, answer({ taskId: String(id) }))
    expect(['0', '1', '10000'].map((id) => tasks.find(ANN, id)?.offer)).toEqual([undefined, HERE, HERE])
  })
})
