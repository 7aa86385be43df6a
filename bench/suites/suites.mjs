import { runCalls } from './call.mjs'
import { runCatalogues } from './catalog.mjs'
import { runGovernance } from './governance.mjs'
import { closeLanes, openLanes } from './lanes.mjs'
import { runMixed } from './mixed.mjs'
import { runSessions } from './sessions.mjs'
import { runSizes } from './size.mjs'
import { runStartUps } from './start-up.mjs'
import { runUpstreams } from './upstreams.mjs'

/** Suites whose gateways are all up at once, and visited in turn. */
const SHARED = { call: runCalls, size: runSizes }
/** Suites that start their own: they measure starts, or leave memory behind. */
const ALONE = {
  mixed: runMixed,
  sessions: runSessions,
  catalog: runCatalogues,
  upstreams: runUpstreams,
  'start-up': runStartUps,
  governance: runGovernance,
}

export const SUITES = [...Object.keys(SHARED), ...Object.keys(ALONE)]

export async function runSuites(run, names) {
  const shared = names.filter((name) => name in SHARED)
  if (shared.length > 0) {
    const lanes = await openLanes(run)
    for (const name of shared) await timed(run, name, () => SHARED[name](run, lanes))
    await closeLanes(lanes)
  }
  for (const name of names.filter((name) => name in ALONE)) await timed(run, name, () => ALONE[name](run))
}

async function timed({ say }, name, work) {
  const from = performance.now()
  await work()
  say(`${name}: ${((performance.now() - from) / 1_000).toFixed(0)} s`)
}
