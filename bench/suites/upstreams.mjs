import { setTimeout as delay } from 'node:timers/promises'
import { openInstance } from '../gateways/instance.mjs'
import { runBurst } from '../load/burst.mjs'
import { processesOf, residentOf } from '../machine/process-tree.mjs'
import { smallCall } from './call.mjs'

const SETTLE = 2_000
const CALLS = 5_000
const TOOLS_EACH = 10

/** The memory of a gateway with many servers behind it, before and after it has worked. */
export async function runUpstreams(run) {
  for (const gateway of run.gateways.filter(({ name }) => name === 'ours-stdio')) {
    run.say(`upstreams: ${run.plan.upstreams} behind ${gateway.name}`)
    await run.attempt(gateway, 'upstreams', () => measure(run, gateway))
  }
}

async function measure({ world, plan, record }, gateway) {
  const instance = await openInstance(world, gateway, { upstreamCount: plan.upstreams, toolCount: TOOLS_EACH })
  try {
    const lane = { gateway, era: 'modern', client: await instance.connect('modern') }
    await delay(SETTLE)
    const { own, upstream } = processesOf(instance.pid)
    const idle = residentOf(own)
    await runBurst(lane.client, smallCall(lane), { callers: 16, ms: 60_000, calls: CALLS })
    record({ suite: 'upstreams', lane, case: plan.upstreams, running: upstream.length, idle, worked: residentOf(own) })
  } finally {
    await instance.close()
  }
}
