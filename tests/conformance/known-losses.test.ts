import { describe, expect, it } from 'vitest'
import type { Loss } from './check.ts'
import { excuseOf, KNOWN_LOSSES, type KnownLoss, staleLosses } from './known-losses.ts'
import { LEGS, nameOf } from './leg.ts'

const loss: Loss = { scenario: 'tasks', id: 'get', name: 'Get', isScored: false, message: '' }
const known: KnownLoss = { leg: 'server bridged', scenario: 'tasks', checks: ['get'], reason: 'no tasks' }

describe('a known loss', () => {
  it('excuses the checks that it names in the legs that it names', () => {
    expect(excuseOf('2026-07-28 server http bridged', loss, [known])).toBe('no tasks')
    expect(excuseOf('2026-07-28 server stdio bridged', loss, [known])).toBe('no tasks')
    expect(excuseOf('2026-07-28 server http mirrored', loss, [known])).toBeUndefined()
    expect(excuseOf('2026-07-28 server http bridged', { ...loss, id: 'cancel' }, [known])).toBeUndefined()
    expect(excuseOf('2026-07-28 server http bridged', { ...loss, scenario: 'tools' }, [known])).toBeUndefined()
  })

  it('excuses a whole scenario where it names no check', () => {
    const { checks: _checks, ...whole } = known
    expect(excuseOf('2026-07-28 server http bridged', { ...loss, id: 'cancel' }, [whole])).toBe('no tasks')
  })

  it('excuses a required check only where the eras differ', () => {
    const everywhere = { ...known, leg: 'server' }
    const required = { ...loss, isScored: true }
    expect(excuseOf('2026-07-28 server http bridged', required, [everywhere])).toBe('no tasks')
    expect(excuseOf('2026-07-28 server http mirrored', required, [everywhere])).toBeUndefined()
    expect(excuseOf('2026-07-28 server http dual', required, [everywhere])).toBeUndefined()
  })

  it('is stale when nothing that it names is lost', () => {
    const leg = '2026-07-28 server http bridged'
    expect(staleLosses(new Map([[leg, [loss]]]), [known])).toEqual([])
    expect(staleLosses(new Map([[leg, [{ ...loss, id: 'cancel' }]]]), [known])).toEqual([known])
    expect(staleLosses(new Map(), [known])).toEqual([known])
    expect(staleLosses(new Map(), [{ ...known, isOccasional: true }])).toEqual([])
  })

  it('names legs that there are', () => {
    const names = LEGS.map((leg) => nameOf(leg).split(' '))
    const lost = KNOWN_LOSSES.filter(
      ({ leg }) => !names.some((name) => leg.split(' ').every((word) => name.includes(word))),
    )
    expect(lost).toEqual([])
  })
})
