import { setTimeout as delay } from 'node:timers/promises'
import { carriesMark } from './process-mark.ts'
import { type ProcessEntry, readMarks, readProcessTable } from './process-table.ts'

export interface SweepTarget {
  /** A whole mark, or its first parts for everything below. */
  readonly mark: string
  /** The process that was started: it leads a session and a group of the same number. */
  readonly leader?: number
  /** Processes that started earlier cannot belong to it, and their environment need not be read. */
  readonly since?: number
  /** Processes that were found while their parent was alive; nothing else may show that they belong to it. */
  readonly known?: readonly ProcessEntry[]
  /** Never killed, in addition to ourselves and our ancestors. */
  readonly exclude?: readonly number[]
  /** Where the process files are. */
  readonly processFiles?: string
}

export interface SweepResult {
  /** `group`: this system does not show environments, so only the process group could be ended. */
  readonly reach: 'everything' | 'group'
  readonly killed: number
  /** Processes that did not die in time: they hang in the kernel. */
  readonly left: number
}

const MAX_ROUNDS = 60
const MAX_PAUSE_MS = 100

/** Kills everything that belongs to the target, repeatedly until nothing is left. */
export async function sweepProcesses(target: SweepTarget): Promise<SweepResult> {
  const killed = new Set<number>()
  for (let round = 0; ; round++) {
    if (target.leader !== undefined) signalGroup(target.leader, 'SIGKILL')
    const found = findProcesses(target)
    if (found === undefined) return { reach: 'group', killed: 0, left: 0 }
    if (found.length === 0 || round === MAX_ROUNDS)
      return { reach: 'everything', killed: killed.size, left: found.length }
    for (const { pid } of found) if (signalProcess(pid, 'SIGKILL')) killed.add(pid)
    await delay(Math.min(2 ** round, MAX_PAUSE_MS))
  }
}

/** Everything that belongs to the target now; `undefined` if the system has no process files. */
export function findProcesses(target: SweepTarget): readonly ProcessEntry[] | undefined {
  const table = readProcessTable(target.processFiles)
  if (table === undefined) return undefined
  const spared = new Set([...(target.exclude ?? []), ...ancestorPids(table)])
  const candidates = table.filter(({ pid }) => !spared.has(pid))
  return withDescendants(
    candidates.filter((entry) => belongs(entry, target)),
    candidates,
  )
}

/** True if the process existed. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    // Gone, or we may not signal it.
    return false
  }
}

/** True if a process existed. Pid 0 would mean our own group, and 1 everybody. */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  return leader > 1 && signalProcess(-leader, signal)
}

function belongs(entry: ProcessEntry, { mark, leader, since = 0, known, processFiles }: SweepTarget): boolean {
  if (entry.started < since) return false
  if (leader !== undefined && (entry.session === leader || entry.group === leader)) return true
  if (known?.some(({ pid, started }) => pid === entry.pid && started === entry.started)) return true
  return carriesMark(readMarks(entry.pid, processFiles), mark)
}

/** A child may have left its environment and its session, but not its parent. */
function withDescendants(found: readonly ProcessEntry[], candidates: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const family = new Set(found)
  const pids = new Set(found.map(({ pid }) => pid))
  for (let grown = family.size > 0; grown; ) {
    const children = candidates.filter((entry) => !family.has(entry) && pids.has(entry.parent))
    for (const child of children) {
      family.add(child)
      pids.add(child.pid)
    }
    grown = children.length > 0
  }
  return [...family]
}

/** Ourselves, our parent, and so on: a gateway may have been started from below one of its own earlier servers. */
function ancestorPids(table: readonly ProcessEntry[]): readonly number[] {
  const parents = new Map(table.map(({ pid, parent }) => [pid, parent]))
  const line: number[] = []
  for (let pid: number | undefined = process.pid; pid !== undefined && pid > 0; pid = parents.get(pid)) line.push(pid)
  return line
}
