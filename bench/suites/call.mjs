import { setTimeout as delay } from 'node:timers/promises'
import { runBurst } from '../load/burst.mjs'
import { prepareRequest } from '../load/request.mjs'
import { residentOf } from '../machine/process-tree.mjs'
import { rotate } from './rotate.mjs'

const RESULT_BYTES = 1_000
/** On a busy machine, time alone would give too few calls to compare. */
const MIN_CALLS = 200

/** Small calls: how long one takes, how many there are in a second, and what CPU each costs. */
export async function runCalls({ plan, record, say }, lanes) {
  for (let round = 0; round < plan.rounds; round++) {
    say(`call: round ${round + 1} of ${plan.rounds}`)
    for (const lane of rotate(lanes, round * 3)) await lane.attempt('call', () => visit({ plan, record, round }, lane))
  }
}

export const smallCall = ({ era, client }) =>
  prepareRequest(era, 'tools/call', { name: client.blob, arguments: { size: RESULT_BYTES } })

async function visit({ plan, record, round }, lane) {
  const request = smallCall(lane)
  // V8 drops the code of processes that idle: each is warmed again before it is measured.
  await runBurst(lane.client, request, { callers: 16, ms: plan.primeMs, calls: plan.primeCalls })
  for (const callers of plan.callers) {
    const meter = lane.instance.startMeter()
    const figures = await runBurst(lane.client, request, { callers, ms: plan.burstMs, minCalls: MIN_CALLS })
    const cpu = meter.cpuPerCall(figures.calls)
    record({ suite: 'call', lane, case: `${lane.era}/${callers}`, round, ...figures, cpu, rss: residentOf(meter.own) })
    await delay(10)
  }
}
