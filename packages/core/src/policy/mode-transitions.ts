import { SallyportError } from '../errors.ts'
import type { Mode } from './mode.ts'

/** Who changes the mode: a known person, or the gateway itself. */
export type ModeChanger = 'person' | 'automatic'

/** Least strict first. With the default lists, ALERT allows fewer tools than DEGRADED. */
const BY_STRICTNESS: readonly Mode[] = ['NORMAL', 'DEGRADED', 'ALERT', 'RECOVERY', 'LOCKDOWN']

/** The modes that a person can change to. LOCKDOWN only leads to RECOVERY, so that somebody investigates first. */
export const NEXT_MODES: Readonly<Record<Mode, readonly Mode[]>> = {
  NORMAL: ['ALERT', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'],
  ALERT: ['NORMAL', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'],
  DEGRADED: ['NORMAL', 'ALERT', 'LOCKDOWN'],
  LOCKDOWN: ['RECOVERY'],
  RECOVERY: ['NORMAL', 'ALERT', 'DEGRADED', 'LOCKDOWN'],
}

export const isStricter = (mode: Mode, than: Mode): boolean => BY_STRICTNESS.indexOf(mode) > BY_STRICTNESS.indexOf(than)

/** Why a change of mode is refused; `undefined` if it is allowed. The same mode is always allowed. */
export function checkTransition(from: Mode, to: Mode, by: ModeChanger): SallyportError | undefined {
  if (from === to) return undefined
  if (by === 'automatic') return isStricter(to, from) ? undefined : notStricter(from, to)
  if (NEXT_MODES[from].includes(to)) return undefined
  return new SallyportError(
    'MODE_REFUSED',
    `The mode cannot change from ${from} to ${to}; possible: ${NEXT_MODES[from].join(', ')}.`,
    {
      hint: detour(from, to),
    },
  )
}

function notStricter(from: Mode, to: Mode): SallyportError {
  return new SallyportError(
    'MODE_REFUSED',
    `The mode can only become stricter automatically; ${to} is not stricter than ${from}.`,
    {
      hint: 'A person can relax it: `sallyport mode`.',
    },
  )
}

/** Suggests the strictest intermediate mode. */
function detour(from: Mode, to: Mode): string {
  const steps = NEXT_MODES[from].filter((mode) => NEXT_MODES[mode].includes(to))
  const [step] = steps.sort((one, other) => BY_STRICTNESS.indexOf(other) - BY_STRICTNESS.indexOf(one))
  return `Go through ${step}: \`sallyport mode ${step} --why "…"\`, then \`sallyport mode ${to} --why "…"\`.`
}
