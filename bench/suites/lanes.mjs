import { openInstance } from '../gateways/instance.mjs'
import { runBurst } from '../load/burst.mjs'
import { smallCall } from './call.mjs'

/** A lane is one gateway as callers of one era see it. All lanes are open at once, so that their rounds interleave. */
export async function openLanes(run) {
  const lanes = []
  for (const gateway of run.gateways) {
    let instance
    for (const era of erasOf(gateway, run.plan)) {
      // Two windows would share a gateway and its numbers: each era over stdio gets its own instance.
      if (gateway.front === 'stdio') instance = undefined
      await run.attempt(gateway, `start, ${era}`, async () => {
        instance ??= await openInstance(run.world, gateway)
        const lane = createLane(run, { gateway, era, instance, client: await instance.connect(era) })
        await runBurst(lane.client, smallCall(lane), { callers: 16, ms: 30_000, calls: run.plan.warmCalls })
        lanes.push(lane)
      })
    }
  }
  return lanes
}

export async function closeLanes(lanes) {
  for (const instance of new Set(lanes.map((lane) => lane.instance))) await instance.close()
}

/** What fails once is not measured again: its state would be different. */
function createLane(run, parts) {
  const lane = { ...parts, failed: false, attempt: undefined }
  lane.attempt = async (what, work) => {
    if (lane.failed) return
    lane.failed = !(await run.attempt(lane.gateway, `${what}, ${lane.era}`, work))
  }
  return lane
}

/** The eras of the plan that the gateway speaks; if there are none, all that it speaks. */
function erasOf({ eras }, plan) {
  const wanted = eras.filter((era) => plan.eras.includes(era))
  return wanted.length > 0 ? wanted : eras.slice(0, 1)
}
