import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openInstance } from './gateways/instance.mjs'
import { runBurst } from './load/burst.mjs'
import { prepareRequest } from './load/request.mjs'
import { cpuOf, processesOf } from './machine/process-tree.mjs'
import { askProbe } from './probe/ask-probe.mjs'
import { printProfile } from './report/profile-summary.mjs'

const WARM_MS = 4_000

/** Profiles one gateway under load, and prints where its time went. */
export async function profileGateway(world, gateway, { era, callers, size, seconds, file }) {
  const instance = await openInstance(world, gateway, { look: 'inside' })
  const client = await instance.connect(era)
  const request = prepareRequest(era, 'tools/call', { name: client.blob, arguments: { size } })
  await runBurst(client, request, { callers, ms: WARM_MS })
  const probe = { folder: instance.folder, pid: busiest(processesOf(instance.pid).own) }
  await askProbe(probe, 'startProfile')
  const meter = instance.startMeter()
  const figures = await runBurst(client, request, { callers, ms: seconds * 1_000 })
  const cpu = meter.cpuPerCall(figures.calls)
  await askProbe(probe, 'stopProfile', file)
  await instance.close()
  const { calls, rate, p50, p99 } = figures
  const head = `${gateway.name}, ${era}, ${callers} callers, results of ${size} bytes: ${calls} calls, ${rate.toFixed(0)}/s, p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, CPU ${cpu.toFixed(0)} µs per call (profiled)`
  return `${head}\n\n${printProfile(JSON.parse(readFileSync(file, 'utf8')), calls)}\n\n${file} opens in Chrome's DevTools and in speedscope.`
}

/** Of the relay of a window and its gateway, the gateway uses more CPU. */
const busiest = (pids) => pids.toSorted((a, b) => cpuOf([b]) - cpuOf([a]))[0]

export const profileFile = (folder, name) => join(folder, `sallyport-bench-${name}.cpuprofile`)
