import { describe, expect, it } from 'vitest'
import { MODES, type Mode } from './mode.ts'
import { checkTransition, isStricter, NEXT_MODES } from './mode-transitions.ts'

const PAIRS = MODES.flatMap((from) => MODES.map((to) => [from, to] as const))
const REFUSED_TO_PERSONS: readonly string[] = [
  'DEGRADED RECOVERY',
  'LOCKDOWN NORMAL',
  'LOCKDOWN ALERT',
  'LOCKDOWN DEGRADED',
]

describe('a person', () => {
  it.each(PAIRS)('can change from %s to %s only as the table allows', (from, to) => {
    const refused = REFUSED_TO_PERSONS.includes(`${from} ${to}`)
    expect(checkTransition(from, to, 'person')?.code).toBe(refused ? 'MODE_REFUSED' : undefined)
  })

  it.each(MODES)('can change to LOCKDOWN from %s', (from) => {
    expect(checkTransition(from, 'LOCKDOWN', 'person')).toBeUndefined()
  })

  it('gets an error with the possible modes and the intermediate step', () => {
    expect(checkTransition('LOCKDOWN', 'NORMAL', 'person')).toMatchObject({
      message: 'The mode cannot change from LOCKDOWN to NORMAL; possible: RECOVERY.',
      hint: 'Go through RECOVERY: `sallyport mode RECOVERY --why "…"`, then `sallyport mode NORMAL --why "…"`.',
    })
    expect(checkTransition('DEGRADED', 'RECOVERY', 'person')).toMatchObject({
      message: 'The mode cannot change from DEGRADED to RECOVERY; possible: NORMAL, ALERT, LOCKDOWN.',
      hint: expect.stringContaining('through LOCKDOWN'),
    })
  })

  it('can get from every mode to every other in at most two steps', () => {
    const reaches = (from: Mode, to: Mode): boolean =>
      NEXT_MODES[from].some((mode) => mode === to || NEXT_MODES[mode].includes(to))
    expect(PAIRS.filter(([from, to]) => from !== to && !reaches(from, to))).toEqual([])
  })
})

describe('the gateway by itself', () => {
  const STRICTER: Readonly<Record<Mode, readonly Mode[]>> = {
    NORMAL: ['ALERT', 'DEGRADED', 'LOCKDOWN', 'RECOVERY'],
    DEGRADED: ['ALERT', 'LOCKDOWN', 'RECOVERY'],
    ALERT: ['LOCKDOWN', 'RECOVERY'],
    RECOVERY: ['LOCKDOWN'],
    LOCKDOWN: [],
  }

  it.each(PAIRS)('changes from %s to %s only if that is stricter', (from, to) => {
    const goes = from === to || STRICTER[from].includes(to)
    expect(checkTransition(from, to, 'automatic') === undefined).toBe(goes)
    expect(isStricter(to, from)).toBe(STRICTER[from].includes(to))
  })

  it('never relaxes the mode, and says that a person can', () => {
    expect(checkTransition('ALERT', 'NORMAL', 'automatic')).toMatchObject({
      code: 'MODE_REFUSED',
      message: 'The mode can only become stricter automatically; NORMAL is not stricter than ALERT.',
      hint: 'A person can relax it: `sallyport mode`.',
    })
  })
})
