import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'

/** When and where a process began: with its pid this tells it from a later one that got the same number. */
export interface ProcessStart {
  /** The boot of the machine; its clock ticks are comparable within one only. */
  readonly boot: string
  /** The pid namespace: a container that shares our files does not share our pids. */
  readonly space: string
  readonly at: string
}

/** Undefined when no such process lives. */
export function readProcessStart(pid: number, platform: NodeJS.Platform = process.platform): ProcessStart | undefined {
  return platform === 'linux' ? readStartFromProc(pid) : readStartFromPs(pid)
}

function readStartFromProc(pid: number): ProcessStart | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program's name stands in brackets and may itself hold brackets and spaces.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return { ...readBootAndNamespace(), at: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

function readBootAndNamespace(): Pick<ProcessStart, 'boot' | 'space'> {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').replaceAll(/[^0-9a-f]/g, '')
  return { boot: boot.slice(0, 12), space: readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '') }
}

function readStartFromPs(pid: number): ProcessStart | undefined {
  try {
    const options = { encoding: 'utf8', env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' } } as const
    const began = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], options)
    return { boot: '0', space: '0', at: String(Date.parse(began) / 1000) }
  } catch {
    return undefined
  }
}
