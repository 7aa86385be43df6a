import { runBurst } from '../load/burst.mjs'
import { prepareRequest } from '../load/request.mjs'
import { peakOf, resetPeak, residentOf } from '../machine/process-tree.mjs'
import { rotate } from './rotate.mjs'

const LARGE = 1_000_000
const LARGE_BURST_MS = 1_500
const LARGE_CALLS = 16

/** Results of growing size: time, CPU, and how far memory grows. One era: a result's bytes are the same in both. */
export async function runSizes({ plan, record, say }, lanes) {
  const chosen = lanes.filter((lane, index) => lanes.findIndex(({ gateway }) => gateway === lane.gateway) === index)
  for (let round = 0; round < plan.sizeRounds; round++) {
    say(`size: round ${round + 1} of ${plan.sizeRounds}`)
    for (const size of plan.sizes)
      for (const lane of rotate(chosen, round))
        await lane.attempt(`${size} bytes`, async () =>
          record({ suite: 'size', lane, case: size, round, ...(await measure(lane, size, plan)) }),
        )
  }
}

async function measure({ client, era, instance }, size, { burstMs }) {
  const request = prepareRequest(era, 'tools/call', { name: client.blob, arguments: { size } })
  const meter = instance.startMeter()
  const before = residentOf(meter.own)
  resetPeak(meter.own)
  // One large result at a time: memory is compared with the size of one.
  const load = size < LARGE ? { callers: 4, ms: burstMs } : { ms: LARGE_BURST_MS, calls: LARGE_CALLS }
  const figures = await runBurst(client, request, load)
  return { ...figures, cpu: meter.cpuPerCall(figures.calls), growth: peakOf(meter.own) - before }
}
