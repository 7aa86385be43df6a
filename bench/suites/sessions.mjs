import { setTimeout as delay } from 'node:timers/promises'
import { openInstance } from '../gateways/instance.mjs'
import { runBurst } from '../load/burst.mjs'
import { resultOf } from '../load/reply.mjs'
import { descriptorsOf, processesOf, residentOf } from '../machine/process-tree.mjs'
import { askProbe } from '../probe/ask-probe.mjs'
import { smallCall } from './call.mjs'

const AT_ONCE = 10
const WARM_CALLS = 3_000
const TIMES_BEFORE = 3
const SETTLE = 500
const MAX_LOOKS = 12
/** Two measurements that differ by at most this share are equal. */
const AT_REST = 0.002
const KB = 1024

/**
 * Many legacy sessions: what one needs while it is open, and what is left when all have ended. More were opened before:
 * V8's young generation grows by what outlives it, and has to have its full size before the ones that are measured.
 */
export async function runSessions(run) {
  for (const gateway of run.gateways.filter(holdsSessions).filter(({ kind }) => run.plan.alone.includes(kind))) {
    run.say(`sessions: ${gateway.name}`)
    await run.attempt(gateway, 'sessions', () => measure(run, gateway))
  }
}

const holdsSessions = ({ front, kind, eras }) =>
  front === 'http' && kind !== 'direct' && kind !== 'floor' && eras.includes('legacy')

async function measure({ world, plan, record }, gateway) {
  const instance = await openInstance(world, gateway, { look: 'inside' })
  try {
    const client = await instance.connect('legacy')
    const count = Math.min(plan.sessions, gateway.maxSessions ?? plan.sessions)
    // What a process takes when it begins to work is not counted to the sessions.
    await runBurst(client, smallCall({ era: 'legacy', client }), { callers: 16, ms: 30_000, calls: WARM_CALLS })
    const alone = await takeStock(instance)
    const first = await openSessions(instance, client, gateway.maxSessions ? count : count * TIMES_BEFORE)
    const before = await takeStock(instance)
    const sessions = await openSessions(instance, client, count)
    const open = await takeStock(instance)
    const streams = await openStreams(sessions)
    const streaming = await takeStock(instance)
    await end([...first, ...sessions])
    const after = await takeStock(instance)
    record({
      suite: 'sessions',
      lane: { gateway },
      case: count,
      kb: ((open.resident - before.resident) * KB) / count,
      firstKb: ((before.resident - alone.resident) * KB) / first.length,
      heapKb: ((open.used - before.used) * KB) / count,
      processes: open.processes - before.processes,
      streams,
      streamKb: ((streaming.resident - open.resident) * KB) / streams,
      heapLeft: after.used - alone.used,
      residentLeft: after.resident - alone.resident,
      descriptorsLeft: after.descriptors - alone.descriptors,
    })
  } finally {
    await instance.close()
  }
}

/** Each session makes one call and keeps no connection. */
async function openSessions(instance, { echo }, count) {
  const sessions = []
  while (sessions.length < count) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - sessions.length) }, () =>
      instance.createClient('legacy'),
    )
    await Promise.all(
      some.map(async (client) => {
        await client.open()
        resultOf(await client.call('tools/call', { name: echo, arguments: { text: 'x' } }))
        client.close()
      }),
    )
    sessions.push(...some)
  }
  return sessions
}

async function openStreams(sessions) {
  const statuses = await inTurns(sessions, (session) => session.openStream().catch(() => 0))
  return statuses.filter((status) => status === 200).length
}

async function end(sessions) {
  for (const session of sessions) session.close()
  await inTurns(sessions, (session) => session.endSession().catch(() => {}))
  for (const session of sessions) session.close()
}

async function usedAtRest(instance) {
  let before = Number.POSITIVE_INFINITY
  for (let look = 0; look < MAX_LOOKS; look++) {
    await delay(SETTLE)
    const { used } = await askProbe(instance, 'memory')
    if (Math.abs(used - before) < AT_REST * used) return used
    before = used
  }
  return before
}

async function inTurns(list, work) {
  const results = []
  for (let at = 0; at < list.length; at += AT_ONCE)
    results.push(...(await Promise.all(list.slice(at, at + AT_ONCE).map(work))))
  return results
}

/** Memory in MB once the garbage is gone, and background work has finished. */
async function takeStock(instance) {
  const used = await usedAtRest(instance)
  await delay(SETTLE)
  const { own, upstream } = processesOf(instance.pid)
  return {
    used: used / KB / KB,
    resident: residentOf(own),
    descriptors: descriptorsOf([instance.pid]),
    processes: own.length + upstream.length,
  }
}
