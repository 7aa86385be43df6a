import { readdirSync, readFileSync } from 'node:fs'
import { MARK_VARIABLE } from './process-mark.ts'

/** An entry of the kernel's process table. */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Ticks since boot. Together with the pid it identifies a process, even if a later one gets the same pid. */
  readonly started: number
}

/** Every living process; `undefined` if the system has no process files (macOS). */
export function readProcessTable(root = '/proc'): readonly ProcessEntry[] | undefined {
  const names = tryRead(() => readdirSync(root))
  if (names === undefined || readProcess('self', root) === undefined) return undefined
  return names
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(name, root))
    .filter((entry) => entry !== undefined)
}

/** The marks that a process was started with; empty if it has none or belongs to another user. */
export function readMarks(pid: number, root = '/proc'): string {
  const variables = `\0${tryRead(() => readFileSync(`${root}/${pid}/environ`, 'latin1')) ?? ''}`
  const begin = `\0${MARK_VARIABLE}=`
  const at = variables.indexOf(begin)
  if (at < 0) return ''
  const end = variables.indexOf('\0', at + 1)
  return variables.slice(at + begin.length, end < 0 ? undefined : end)
}

/** A dead process that waits for its parent counts as gone: nothing can kill it again. */
export function readProcess(name: string, root = '/proc'): ProcessEntry | undefined {
  const line = tryRead(() => readFileSync(`${root}/${name}/stat`, 'latin1'))
  if (line === undefined) return undefined
  // The program's name is in parentheses, and may itself contain parentheses and spaces.
  const [state, ...fields] = line.slice(line.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return undefined
  const [parent, group, session] = fields.map(Number) as [number, number, number]
  return { pid: Number.parseInt(line, 10), parent, group, session, started: Number(fields[18]) }
}

/** `undefined` if it is gone or unreadable: processes come and go while we read. */
function tryRead<Value>(look: () => Value): Value | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
