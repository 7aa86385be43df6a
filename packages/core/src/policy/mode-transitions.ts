import { SallyportError } from '../errors.ts'
import type { Mode } from './mode.ts'

/** Who changes the mode: a person with a name, or the gateway by itself. */
export type ModeChanger = 'person' | 'automatic'

/** From the most open one on. With the default lists ALERT leaves fewer tools than DEGRADED does. */
const BY_STRICTNESS: readonly Mode[] = ['NORMAL', 'DEGRADED', 'ALERT', 'RECOVERY', 'LOCKDOWN']

/** Where a person can go from each mode. The way out of LOCKDOWN leads through RECOVERY, so that somebody looks first. */
export const NEXT_MODES: Readonly<Record<Mode, readonly Mode[]>> = {
  NORMAL: ['ALERT', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'],
  ALERT: ['NORMAL', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'],
  DEGRADED: ['NORMAL', 'ALERT', 'LOCKDOWN'],
  LOCKDOWN: ['RECOVERY'],
  RECOVERY: ['NORMAL', 'ALERT', 'DEGRADED', 'LOCKDOWN'],
}

export const isStricter = (mode: Mode, than: Mode): boolean => BY_STRICTNESS.indexOf(mode) > BY_STRICTNESS.indexOf(than)

/** Why one mode may not follow another, or nothing when it may. That a mode stays is no change. */
export function checkTransition(from: Mode, to: Mode, by: ModeChanger): SallyportError | undefined {
  if (from === to) return undefined
  if (by === 'automatic') return isStricter(to, from) ? undefined : notStricter(from, to)
  if (NEXT_MODES[from].includes(to)) return undefined
  return new SallyportError(
    'MODE_REFUSED',
    `${to} cannot follow ${from}; what can is ${NEXT_MODES[from].join(', ')}.`,
    {
      hint: detour(from, to),
    },
  )
}

function notStricter(from: Mode, to: Mode): SallyportError {
  return new SallyportError('MODE_REFUSED', `The mode can only get stricter by itself; ${to} is not, after ${from}.`, {
    hint: 'A person can relax it: `sallyport mode`.',
  })
}

/** By the strictest of all ways round. */
function detour(from: Mode, to: Mode): string {
  const ways = NEXT_MODES[from].filter((mode) => NEXT_MODES[mode].includes(to))
  const [way] = ways.sort((one, other) => BY_STRICTNESS.indexOf(other) - BY_STRICTNESS.indexOf(one))
  return `Go by way of ${way}: \`sallyport mode ${way} --why "…"\`, then \`sallyport mode ${to} --why "…"\`.`
}
