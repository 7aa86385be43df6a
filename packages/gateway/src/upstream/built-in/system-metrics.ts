import { availableParallelism, freemem, loadavg, totalmem, uptime } from 'node:os'

export interface SystemMetrics {
  readonly time: string
  readonly cpus: number
  /** Over 1, 5 and 15 minutes. */
  readonly load_average: readonly number[]
  readonly memory: { readonly total_bytes: number; readonly available_bytes: number }
  readonly uptime_seconds: number
  readonly gateway: {
    readonly uptime_seconds: number
    readonly rss_bytes: number
    readonly heap_used_bytes: number
    readonly cpu_seconds: number
  }
}

/** Numbers only: nothing here names the machine, its users or its files. */
export function measureSystem(): SystemMetrics {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return {
    time: new Date().toISOString(),
    cpus: availableParallelism(),
    load_average: loadavg().map((load) => Math.round(load * 100) / 100),
    memory: { total_bytes: totalmem(), available_bytes: freemem() },
    uptime_seconds: Math.round(uptime()),
    gateway: {
      uptime_seconds: Math.round(process.uptime()),
      rss_bytes: rss,
      heap_used_bytes: heapUsed,
      cpu_seconds: (user + system) / 1_000_000,
    },
  }
}
