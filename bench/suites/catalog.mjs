import { openInstance } from '../gateways/instance.mjs'
import { writtenTools } from '../gateways/written-tools.mjs'
import { runBurst } from '../load/burst.mjs'
import { prepareRequest } from '../load/request.mjs'
import { residentOf } from '../machine/process-tree.mjs'
import { rotate } from './rotate.mjs'

const LIST_MS = 2_000
const LISTS = 30

/** Catalogues of growing size: from spawning the process to the first whole list, and what a list costs then. */
export async function runCatalogues(run) {
  const chosen = run.gateways.filter(isMeasured(run.plan))
  for (const toolCount of run.plan.toolCounts)
    for (let round = 0; round < run.plan.catalogRounds; round++) {
      run.say(`catalog: ${toolCount} tools, round ${round + 1} of ${run.plan.catalogRounds}`)
      for (const gateway of rotate(chosen, round))
        await run.attempt(gateway, `${toolCount} tools`, () => measure(run, gateway, { toolCount, round }))
    }
}

const isMeasured =
  ({ alone }) =>
  ({ front, kind, yardstick }) =>
    front === 'http' && alone.includes(kind) && (kind !== 'floor' || yardstick)

async function measure({ world, record }, gateway, { toolCount, round }) {
  const first = await start(world, gateway, { toolCount })
  const again = gateway.kind === 'ours' ? await startAgain(world, first, { toolCount }) : first
  try {
    const request = prepareRequest(again.era, 'tools/list')
    await runBurst(again.client, request, { ms: LIST_MS / 2, calls: LISTS / 2 })
    const meter = again.instance.startMeter()
    const list = await runBurst(again.client, request, { ms: LIST_MS, calls: LISTS })
    record({
      suite: 'catalog',
      lane: { gateway },
      case: toolCount,
      round,
      startMs: first.ms,
      knownMs: again === first ? Number.NaN : again.ms,
      p50: list.p50,
      cpu: meter.cpuPerCall(list.calls),
      rss: residentOf(meter.own),
    })
  } finally {
    await again.instance.close()
  }
}

async function start(world, gateway, options) {
  const era = gateway.eras.includes('modern') ? 'modern' : 'legacy'
  const from = performance.now()
  const instance = await openInstance(world, gateway, options)
  try {
    const client = await instance.connect(era)
    return { instance, client, era, ms: performance.now() - from }
  } catch (error) {
    await instance.close()
    throw error
  }
}

/** On what the first start left: the catalogue is known now, and each tool has its entry in tools.yaml. */
async function startAgain(world, { instance }, options) {
  await writtenTools(instance.folder, options.toolCount).finally(() => instance.close())
  return start(world, instance.gateway, { ...options, folder: instance.folder })
}
