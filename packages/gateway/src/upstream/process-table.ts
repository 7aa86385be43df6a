import { readdirSync, readFileSync, statSync } from 'node:fs'
import { MARK_VARIABLE } from './process-mark.ts'

/** A line of the kernel's process table. */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Ticks since boot. With the pid it tells a process from a later one that got the same number. */
  readonly started: number
}

const MARK_PREFIX = `${MARK_VARIABLE}=`

/** Every living process of our own user, or nothing where the system has no process files (macOS). */
export function readProcessTable(root = '/proc'): readonly ProcessEntry[] | undefined {
  if (readEntry(root, 'self') === undefined) return undefined
  const uid = process.geteuid?.()
  return readdirSync(root)
    .filter((name) => /^\d+$/.test(name) && ownerOf(root, name) === uid)
    .map((name) => readEntry(root, name))
    .filter((entry) => entry !== undefined)
}

/** The marks that a process was started with; empty when it carries none or may not be looked into. */
export function readMarks(pid: number, root = '/proc'): string {
  const variables = attempt(() => readFileSync(`${root}/${pid}/environ`, 'latin1')) ?? ''
  const at = variables.startsWith(MARK_PREFIX) ? 0 : variables.indexOf(`\0${MARK_PREFIX}`) + 1
  if (at === 0 && !variables.startsWith(MARK_PREFIX)) return ''
  const end = variables.indexOf('\0', at)
  return variables.slice(at + MARK_PREFIX.length, end < 0 ? undefined : end)
}

/** A process that forbids core dumps belongs to root here; then we could not read its marks either. */
function ownerOf(root: string, name: string): number | undefined {
  return attempt(() => statSync(`${root}/${name}`).uid)
}

/** A dead process waiting for its parent counts as gone: nothing can kill it again. */
function readEntry(root: string, name: string): ProcessEntry | undefined {
  const line = attempt(() => readFileSync(`${root}/${name}/stat`, 'latin1'))
  if (line === undefined) return undefined
  // The program's name stands in brackets and may itself hold brackets and spaces.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    started: Number(fields[19]),
  }
}

/** Processes come and go while we look. */
function attempt<Value>(look: () => Value): Value | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
