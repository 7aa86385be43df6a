import { percentile } from '../report/figures.mjs'
import { resultOf } from './reply.mjs'

/** One reply in this many is parsed; the others are checked by their size. */
const LOOKED_INTO = 64
/** Ids and times make answers differ by a few bytes; an error differs by more. */
const SAME_SIZE = 64
/** Parsing one of these would delay the other callers. */
const LARGE = 4_000_000
const STALL = 30_000

/**
 * Callers send one request after the other, for a time and a minimum number of calls, up to a maximum number of calls.
 *
 * A reply that is not a result ends the burst: a gateway that answers with errors must fail, not look fast.
 */
export async function runBurst(client, request, load) {
  const { callers = 1, ms = 0, minCalls = callers, calls = Number.POSITIVE_INFINITY } = load
  const latencies = []
  const check = createReplyCheck()
  const from = performance.now()
  const goesOn = () => !failed && sent < calls && (sent < minCalls || performance.now() < from + ms)
  let failed = false
  let sent = 0
  async function caller() {
    while (goesOn()) {
      sent++
      const at = performance.now()
      const reply = await client.send(request)
      latencies.push(performance.now() - at)
      check(reply)
    }
  }
  try {
    await withoutStall(Promise.all(Array.from({ length: callers }, caller)), () => latencies.length)
  } catch (error) {
    // The other callers end with the one that failed, so that they do not disturb the next measurement.
    failed = true
    throw error
  }
  return summarise(latencies, performance.now() - from)
}

function createReplyCheck() {
  let size = 0
  let seen = 0
  return (reply) => {
    const odd = size === 0 || Math.abs(reply.bytes - size) > SAME_SIZE
    if (odd || reply.status !== 200 || seen % LOOKED_INTO === 0) checkReply(reply)
    size = reply.bytes
    seen++
  }
}

function checkReply(reply) {
  if (reply.bytes < LARGE || reply.status !== 200) resultOf(reply)
  else if (!reply.beginning().includes('"result"')) throw new Error(`no result: ${reply.beginning()}`)
}

async function withoutStall(work, progress) {
  let seen = -1
  let timer
  const stalled = new Promise((_, reject) => {
    timer = setInterval(() => {
      if (progress() === seen) reject(new Error(`no answer for ${STALL / 1_000} s`))
      seen = progress()
    }, STALL)
  })
  try {
    await Promise.race([work, stalled])
  } finally {
    clearInterval(timer)
    work.catch(() => {})
  }
}

function summarise(latencies, wall) {
  const sorted = latencies.sort((a, b) => a - b)
  return {
    calls: sorted.length,
    rate: (sorted.length / wall) * 1_000,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
  }
}
