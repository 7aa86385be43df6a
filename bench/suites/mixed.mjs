import { openInstance } from '../gateways/instance.mjs'
import { runBurst } from '../load/burst.mjs'
import { resultOf } from '../load/reply.mjs'
import { prepareRequest } from '../load/request.mjs'
import { askProbe } from '../probe/ask-probe.mjs'
import { smallCall } from './call.mjs'
import { rotate } from './rotate.mjs'

const LARGE = 10_000_000
const TOO_LARGE = 100_000_000
const CALLERS = 64
const ERA = 'modern'

/** Small calls beside large results: what the large ones cost the others, and how long the event loop is blocked. */
export async function runMixed(run) {
  const chosen = run.gateways.filter(({ kind, front, yardstick }) => front === 'http' && (kind === 'ours' || yardstick))
  const lanes = []
  for (const gateway of chosen)
    await run.attempt(gateway, 'mixed: start', async () => {
      const instance = await openInstance(run.world, gateway, { look: 'inside' })
      lanes.push({ gateway, era: ERA, instance, client: await instance.connect(ERA) })
    })
  for (let round = 0; round < run.plan.mixedRounds; round++) {
    run.say(`mixed: round ${round + 1} of ${run.plan.mixedRounds}`)
    for (const lane of rotate(lanes, round)) await run.attempt(lane.gateway, 'mixed', () => measure(run, lane, round))
  }
  for (const lane of lanes.filter(({ gateway }) => gateway.kind === 'ours'))
    await run.attempt(lane.gateway, 'a result that is too large', () => measureRefusal(run, lane))
  for (const { instance } of lanes) await instance.close()
}

async function measure({ plan, record }, lane, round) {
  const { client, instance } = lane
  const small = smallCall(lane)
  const load = { callers: CALLERS, ms: plan.mixedMs }
  await runBurst(client, small, { callers: CALLERS, ms: plan.primeMs })
  const alone = await runBurst(client, small, load)
  await askProbe(instance, 'watchLoop')
  const [beside, large] = await Promise.all([
    runBurst(client, small, load),
    runBurst(client, blobCall(lane, LARGE), { ms: plan.mixedMs }),
  ])
  const turn = await askProbe(instance, 'longestTurn')
  const figures = { alone: alone.p99, beside: beside.p99, large: large.p50, turnWall: turn.wall, turnCpu: turn.cpu }
  record({ suite: 'mixed', lane, case: 'beside', round, ...figures })
}

/** A result over the limit has to fail its own call, and no other. */
async function measureRefusal({ plan, record }, lane) {
  const from = performance.now()
  const [reply, beside] = await Promise.all([
    lane.client.send(blobCall(lane, TOO_LARGE)),
    runBurst(lane.client, smallCall(lane), { callers: CALLERS, ms: plan.mixedMs }),
  ])
  record({
    suite: 'mixed',
    lane,
    case: 'refused',
    refused: isRefused(reply),
    beside: beside.p99,
    ms: performance.now() - from,
  })
}

function isRefused(reply) {
  if (reply.bytes >= TOO_LARGE) return 0
  try {
    resultOf(reply)
    return 0
  } catch {
    return 1
  }
}

const blobCall = ({ era, client }, size) =>
  prepareRequest(era, 'tools/call', { name: client.blob, arguments: { size } })
