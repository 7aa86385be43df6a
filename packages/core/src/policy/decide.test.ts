import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ALLOW, compileSteps, decide, STEP_NAMES, type Step, type StepName, UNDECIDED, type Verdict } from './decide.ts'

const verdict = (outcome: Verdict['outcome']): Verdict => {
  if (outcome === 'allow') return ALLOW
  return outcome === 'ask' ? { outcome, reason: 'ask' } : { outcome, code: 'CALL_DENIED', reason: 'deny' }
}
const step = (name: StepName, outcome: Verdict['outcome']): Step<unknown> => ({
  name,
  evaluate: () => verdict(outcome),
})
const stepsOf = (outcomes: readonly Verdict['outcome'][]): readonly Step<unknown>[] =>
  outcomes.map((outcome, index) => step(STEP_NAMES[index % STEP_NAMES.length] ?? 'select', outcome))
const outcomes = fc.array(fc.constantFrom<Verdict['outcome']>('allow', 'ask', 'deny'), { maxLength: 8 })

describe('a decision', () => {
  it('allows what every step allows', () => {
    const decision = decide(stepsOf(['allow', 'allow']), {})
    expect(decision).toEqual({
      outcome: 'allow',
      verdicts: [
        { step: 'select', verdict: ALLOW },
        { step: 'mode', verdict: ALLOW },
      ],
    })
  })

  it('ends with the first step that denies, and names it', () => {
    const decision = decide(stepsOf(['ask', 'deny', 'allow']), {})
    expect(decision.outcome).toBe('deny')
    expect(decision.verdicts).toHaveLength(2)
    expect(decision.decisive).toEqual({ step: 'mode', verdict: verdict('deny') })
  })

  it('asks if a step asks and none denies, and names the first step that asked', () => {
    const decision = decide(stepsOf(['allow', 'ask', 'ask']), {})
    expect(decision).toMatchObject({ outcome: 'ask', decisive: { step: 'mode' } })
    expect(decision.verdicts).toHaveLength(3)
  })

  it('is the same when the steps are compiled, for any earlier decision and subject', () => {
    const gates = fc.array(fc.constantFrom('allow', 'ask', 'deny', 'even'), { maxLength: 6 })
    const gateOf = (kind: string, index: number): Step<number> => {
      const name = STEP_NAMES[index % STEP_NAMES.length] ?? 'select'
      if (kind === 'even') return { name, evaluate: (subject) => verdict(subject % 2 === 0 ? 'allow' : 'deny') }
      return step(name, kind as Verdict['outcome'])
    }
    fc.assert(
      fc.property(gates, outcomes, fc.array(fc.nat(9)), (kinds, first, subjects) => {
        const steps = kinds.map(gateOf)
        const compiled = compileSteps(steps)
        const earlier = decide(stepsOf(first), {})
        for (const subject of subjects) expect(compiled(subject, earlier)).toEqual(decide(steps, subject, earlier))
      }),
    )
  })

  it('is made once for the same verdicts', () => {
    const compiled = compileSteps(stepsOf(['allow', 'allow']))
    expect(compiled({}, UNDECIDED)).toBe(compiled({}, UNDECIDED))
    const earlier = decide(stepsOf(['allow', 'ask']), {})
    expect(compiled({}, earlier)).toBe(compiled({}, earlier))
  })

  it('runs no step after one that denied, however often it is made', () => {
    const never: Step<unknown> = { name: 'limits', evaluate: () => expect.fail('it was asked') }
    const denial = verdict('deny')
    const compiled = compileSteps([{ name: 'mode', evaluate: () => denial }, never])
    for (let times = 0; times < 3; times++) expect(compiled({}, UNDECIDED).outcome).toBe('deny')
  })

  it('is the earlier one if there is no step, or if that one denied', () => {
    for (const outcome of ['allow', 'ask', 'deny'] as const) {
      const earlier = decide(stepsOf([outcome]), {})
      expect(decide([], {}, earlier)).toBe(earlier)
      expect(compileSteps([])({}, earlier)).toBe(earlier)
    }
    const denied = decide(stepsOf(['deny']), {})
    expect(compileSteps(stepsOf(['allow']))({}, denied)).toBe(denied)
  })

  it('continues an earlier one and can only restrict it', () => {
    fc.assert(
      fc.property(outcomes, outcomes, (first, second) => {
        const earlier = decide(stepsOf(first), {})
        const together = decide(stepsOf(second), {}, earlier)
        const rank = ['allow', 'ask', 'deny']
        expect(rank.indexOf(together.outcome)).toBeGreaterThanOrEqual(rank.indexOf(earlier.outcome))
        const atOnce = decide([...stepsOf(first), ...stepsOf(second)], {})
        expect(together.outcome).toBe(atOnce.outcome)
        expect(together.verdicts.map(({ verdict }) => verdict)).toEqual(atOnce.verdicts.map(({ verdict }) => verdict))
      }),
    )
  })

  it('runs no further step after a denial', () => {
    const never: Step<unknown> = { name: 'limits', evaluate: () => expect.fail('it was asked') }
    const denied = decide([step('select', 'deny')], {})
    expect(decide([never], {}, denied)).toBe(denied)
  })

  it('does not change an earlier one', () => {
    const earlier = decide(stepsOf(['allow']), {})
    decide(stepsOf(['deny']), {}, earlier)
    expect(earlier.verdicts).toHaveLength(1)
    expect(UNDECIDED).toEqual({ outcome: 'allow', verdicts: [] })
  })

  it('passes the subject to every step', () => {
    const evaluate = (subject: string): Verdict => verdict(subject === 'yes' ? 'allow' : 'deny')
    expect(decide([{ name: 'mode', evaluate }], 'yes').outcome).toBe('allow')
    expect(decide([{ name: 'mode', evaluate }], 'no').outcome).toBe('deny')
  })
})
