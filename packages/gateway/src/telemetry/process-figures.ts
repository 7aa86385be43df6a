import { readdirSync } from 'node:fs'
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { counter, gauge, type MetricFamily } from './metric-family.ts'

/** How often the lag of the event loop is looked at, in milliseconds. More often wakes an idle process for nothing. */
const LAG_RESOLUTION_MS = 50
const NS_PER_SECOND = 1e9
const US_PER_SECOND = 1e6

/** What the operating system and Node say of this process, read when somebody asks. */
export class ProcessMetrics {
  #lag: IntervalHistogram | undefined

  families(): readonly MetricFamily[] {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    const startedAt = performance.timeOrigin / 1_000
    return [
      counter('process_cpu_seconds', 'CPU time that the process has used.', [[(user + system) / US_PER_SECOND]]),
      gauge('process_resident_memory_bytes', 'Memory of the process that is in RAM.', [[rss]]),
      gauge('process_start_time_seconds', 'When the process started, since the epoch.', [[startedAt]]),
      ...descriptorFamilies(),
      gauge('nodejs_heap_size_used_bytes', 'Memory that JavaScript uses.', [[heapUsed]]),
      ...this.#loopFamilies(),
    ]
  }

  close(): void {
    this.#lag?.disable()
  }

  #loopFamilies(): readonly MetricFamily[] {
    const { active } = performance.eventLoopUtilization()
    const busy = counter('nodejs_eventloop_busy_seconds', 'How long the event loop was at work.', [[active / 1_000]])
    return [busy, ...this.#lagFamilies()]
  }

  /** Measuring it costs a timer, so that it begins when somebody asks for the first time. */
  #lagFamilies(): readonly MetricFamily[] {
    if (this.#lag === undefined) {
      this.#lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
      this.#lag.enable()
      return []
    }
    const lag = this.#lag
    // Beginning anew costs it two rounds: one that has seen nothing yet is left to go on.
    if (lag.count === 0) return []
    // The timer's own interval is in each value.
    const seconds = (value: number): number => Math.max(0, value / NS_PER_SECOND - LAG_RESOLUTION_MS / 1_000)
    const [p50 = 0, p99 = 0, most = 0] = [lag.percentile(50), lag.percentile(99), lag.max].map(seconds)
    lag.reset()
    return [
      gauge('nodejs_eventloop_lag_p50_seconds', 'How late timers were since the last scrape: half of them.', [[p50]]),
      gauge('nodejs_eventloop_lag_p99_seconds', 'The same: all but one in a hundred.', [[p99]]),
      gauge('nodejs_eventloop_lag_max_seconds', 'The same: the worst.', [[most]]),
    ]
  }
}

/** Only Linux has this folder; reading it opens one more. */
function descriptorFamilies(): readonly MetricFamily[] {
  try {
    const count = readdirSync('/proc/self/fd').length - 1
    return [gauge('process_open_fds', 'Open file descriptors.', [[count]])]
  } catch {
    return []
  }
}
