import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** How often it is asked, and how long one answer may take, in milliseconds. */
const POLL_INTERVAL_MS = 100
const PROBE_TIMEOUT_MS = 2_000

/** Resolves once `/health` of a local port answers 200; rejects when the signal is aborted. */
export async function waitUntilHealthy(port: number, signal: AbortSignal): Promise<void> {
  while (!(await isHealthy(port, signal))) await delay(POLL_INTERVAL_MS, undefined, { signal })
}

async function isHealthy(port: number, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted()
  const request = get({
    host: '127.0.0.1',
    port,
    path: '/health',
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
  })
  try {
    const [response] = await once(request, 'response')
    return response.statusCode === 200
  } catch {
    signal.throwIfAborted()
    return false
  } finally {
    // What is left of the answer is of no interest, and its end may never come.
    request.on('error', () => {})
    request.destroy()
  }
}
