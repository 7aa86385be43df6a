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
  it.each(PAIRS)('who goes from %s to %s is judged by the table', (from, to) => {
    const refused = REFUSED_TO_PERSONS.includes(`${from} ${to}`)
    expect(checkTransition(from, to, 'person')?.code).toBe(refused ? 'MODE_REFUSED' : undefined)
  })

  it.each(MODES)('can go to LOCKDOWN from %s', (from) => {
    expect(checkTransition(from, 'LOCKDOWN', 'person')).toBeUndefined()
  })

  it('is told what can follow instead, and the way round', () => {
    expect(checkTransition('LOCKDOWN', 'NORMAL', 'person')).toMatchObject({
      message: 'NORMAL cannot follow LOCKDOWN; what can is RECOVERY.',
      hint: 'Go by way of RECOVERY: `sallyport mode RECOVERY --why "…"`, then `sallyport mode NORMAL --why "…"`.',
    })
    expect(checkTransition('DEGRADED', 'RECOVERY', 'person')).toMatchObject({
      message: 'RECOVERY cannot follow DEGRADED; what can is NORMAL, ALERT, LOCKDOWN.',
      hint: expect.stringContaining('by way of LOCKDOWN'),
    })
  })

  it('finds a way from every mode to every other, in two steps at the most', () => {
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

  it.each(PAIRS)('goes from %s to %s only if that is stricter', (from, to) => {
    const goes = from === to || STRICTER[from].includes(to)
    expect(checkTransition(from, to, 'automatic') === undefined).toBe(goes)
    expect(isStricter(to, from)).toBe(STRICTER[from].includes(to))
  })

  it('leaves it to a person to relax the mode, and says so', () => {
    expect(checkTransition('ALERT', 'NORMAL', 'automatic')).toMatchObject({
      code: 'MODE_REFUSED',
      message: 'The mode can only get stricter by itself; NORMAL is not, after ALERT.',
      hint: 'A person can relax it: `sallyport mode`.',
    })
  })
})
