import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const UPSTREAM = '/bench/servers/upstream.mjs'

/** The processes below one, itself included: the gateway's own, and the servers that it started. */
export function processesOf(root) {
  const children = childrenByParent()
  const own = []
  const upstream = []
  const walk = (pid, side) => {
    const home = pid !== root && isUpstream(pid) ? upstream : side
    home.push(pid)
    for (const child of children.get(pid) ?? []) walk(child, home)
  }
  walk(root, own)
  return { own, upstream }
}

/** CPU time in nanoseconds over all threads: schedstat is exact, where stat counts in steps of 10 ms. */
export function cpuOf(pids) {
  const threads = pids.flatMap((pid) => entriesOf(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`))
  return threads.reduce((sum, thread) => sum + Number(textOf(`${thread}/schedstat`).split(' ')[0]), 0)
}

/** Resident memory in MB. */
export const residentOf = (pids) => statusSum(pids, 'VmRSS')

/** The maximum of resident memory since the last `resetPeak`, in MB. */
export const peakOf = (pids) => statusSum(pids, 'VmHWM')

export function resetPeak(pids) {
  for (const pid of pids) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5')
    } catch {
      // A process that has just ended has no peak.
    }
  }
}

export const descriptorsOf = (pids) => pids.reduce((sum, pid) => sum + entriesOf(`/proc/${pid}/fd`).length, 0)

export function isAlive(pid) {
  const state = textOf(`/proc/${pid}/stat`).split(') ').at(-1)?.[0]
  return state !== undefined && state !== 'Z'
}

function childrenByParent() {
  const children = new Map()
  for (const entry of entriesOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(textOf(`/proc/${entry}/stat`).split(') ').at(-1)?.split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
  }
  return children
}

export const commandOf = (pid) => textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')

const isUpstream = (pid) => commandOf(pid).includes(`${UPSTREAM} `)

function statusSum(pids, key) {
  const line = new RegExp(`^${key}:\\s+(\\d+) kB`, 'm')
  return pids.reduce((sum, pid) => sum + Number(line.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0), 0) / 1024
}

/** Processes may end while we read: one that has ended has no values. */
function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function entriesOf(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
