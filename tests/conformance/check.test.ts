import { describe, expect, it } from 'vitest'
import { type Check, compareChecks } from './check.ts'

const check = (id: string, status: Check['status'], message = ''): Check => ({
  scenario: 'tools',
  id,
  name: id,
  status,
  message,
})
const compare = (alone: readonly Check[], through: readonly Check[]) => compareChecks(alone, through, () => true)

describe('a comparison', () => {
  it('keeps what passes on both sides', () => {
    const { kept, losses } = compare([check('a', 'SUCCESS')], [check('a', 'SUCCESS')])
    expect({ kept, losses }).toEqual({ kept: { scored: 1, unscored: 0 }, losses: [] })
  })

  it.each(['FAILURE', 'WARNING', 'INFO', 'SKIPPED'] as const)('has lost what becomes %s', (status) => {
    const { losses } = compare([check('a', 'SUCCESS')], [check('a', status, 'why')])
    expect(losses).toMatchObject([{ id: 'a', isScored: true, message: `${status}: why` }])
  })

  it('ignores what does not pass without the gateway', () => {
    const alone = [check('a', 'FAILURE'), check('b', 'INFO'), check('c', 'SKIPPED')]
    expect(compare(alone, [])).toEqual({ kept: { scored: 0, unscored: 0 }, losses: [] })
  })

  it('distinguishes checks of one id by their order', () => {
    const alone = [check('a', 'SUCCESS'), check('a', 'FAILURE'), check('a', 'SUCCESS')]
    const through = [check('a', 'SUCCESS'), check('a', 'SUCCESS'), check('a', 'FAILURE')]
    expect(compare(alone, through)).toMatchObject({ kept: { scored: 1 }, losses: [{ id: 'a' }] })
  })

  it('has lost what was not checked, and reports the error of its scenario', () => {
    const through = [check('first', 'FAILURE', 'no answer')]
    expect(compare([check('second', 'SUCCESS')], through).losses).toMatchObject([{ message: 'FAILURE: no answer' }])
    expect(compare([check('second', 'SUCCESS')], []).losses).toMatchObject([{ message: 'the check was not made' }])
  })

  it('counts scenarios that are not required separately', () => {
    const both = [check('a', 'SUCCESS')]
    expect(compareChecks(both, both, () => false).kept).toEqual({ scored: 0, unscored: 1 })
    expect(compareChecks(both, [], () => false).losses).toMatchObject([{ isScored: false }])
  })
})
