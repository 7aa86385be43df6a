import { openSync, readdirSync } from 'node:fs'
import type { PreparedSandbox } from './driver.ts'
import { isPassedOn } from './process-facts.ts'

type Descriptors = PreparedSandbox['descriptors']

/**
 * The descriptors after stderr for a child process: the given ones, and /dev/null for each that it would inherit from
 * us. Node closes what it opened itself, but not what the program that started us left open.
 */
export function coverInherited(own: readonly 'pipe'[]): Descriptors {
  const first = 3
  const inherited = findInherited().filter((number) => number >= first + own.length)
  const size = Math.max(own.length, ...inherited.map((number) => number - first + 1))
  return Array.from({ length: size }, (_, index) => {
    if (index < own.length) return own[index]
    return inherited.includes(index + first) ? devNull() : 'ignore'
  })
}

function findInherited(): readonly number[] {
  const numbers = readdirSync('/proc/self/fd').map(Number)
  return numbers.filter((number) => number > 2 && isPassedOn('self', number))
}

let opened: number | undefined

function devNull(): number {
  opened ??= openSync('/dev/null', 'r+')
  return opened
}
