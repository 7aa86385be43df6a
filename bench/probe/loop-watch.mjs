import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const PERIOD = 5
const MS = 1e6
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`

let delay
let timer
let longest = 0

/** Starts to measure how long one turn of the event loop takes. */
export function watchLoop() {
  clearInterval(timer)
  delay?.disable()
  delay = monitorEventLoopDelay({ resolution: PERIOD })
  delay.enable()
  longest = 0
  let before = cpuOfThisThread()
  timer = setInterval(() => {
    const now = cpuOfThisThread()
    longest = Math.max(longest, now - before)
    before = now
  }, PERIOD).unref()
}

/**
 * The longest turn in milliseconds, twice: by the clock, which counts what other processes took from us too, and by
 * the CPU time of this thread, which does not.
 */
export const longestTurn = () => ({ wall: Math.max(0, delay.max / MS - PERIOD), cpu: longest })

const cpuOfThisThread = () => Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]) / MS
