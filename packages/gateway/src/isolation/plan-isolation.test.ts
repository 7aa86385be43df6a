import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import { type PlanSources, planIsolation } from './plan-isolation.ts'

const location = { file: 'config.yaml', line: 3 }
const rule = { file: 'tools.yaml', line: 9 }
const { isolation, executor } = DEFAULT_SETTINGS
const server = { isolated: false, isolatedTools: ['query'], location }

const planFor = (sources: Partial<PlanSources> = {}) =>
  planIsolation({ server, tool: 'query', policy: { isolated: undefined }, isolation, executor, ...sources })

const ruled = (value: NonNullable<PlanSources['policy']['isolated']>['value']) => ({
  policy: { isolated: { value, reason: 'as written', rule } },
})

describe(`${promise('ISO-1')} a tool`, () => {
  it('is isolated as its server’s entry says', () => {
    expect(planFor()).toMatchObject({ strategy: 'bounded', maxTurns: 3, rule: location })
    expect(planFor({ tool: 'schema' })).toBeUndefined()
    expect(planFor({ server: { isolated: true, isolatedTools: [], location }, tool: 'schema' })).toBeDefined()
    expect(planFor({ server: undefined })).toBeUndefined()
  })

  it('uses the sub-agent if a model is configured but no strategy, otherwise "bounded"', () => {
    const model = { provider: 'openai', name: 'm', baseUrl: undefined, apiKey: undefined } as const
    const having = { isolation: { ...isolation, model } }
    expect(planFor(having)).toMatchObject({ strategy: 'agent', budget: 5_000 })
    expect(planFor({ executor: { enabled: true, model } })).toMatchObject({ strategy: 'agent' })
    expect(planFor({ isolation: { ...isolation, model, engine: 'none' } })).toMatchObject({ strategy: 'bounded' })
    expect(planFor({ isolation: { ...isolation, model, strategy: 'bounded' } })).toMatchObject({ strategy: 'bounded' })
    expect(planFor({ ...having, ...ruled({ strategy: 'exact' }) })).toMatchObject({ strategy: 'exact' })
  })

  it('is isolated as its own entry says, whatever the server’s entry says', () => {
    expect(planFor(ruled(false))).toBeUndefined()
    expect(planFor({ ...ruled(true), server: undefined })).toMatchObject({ strategy: 'bounded', rule })
    expect(planFor(ruled({ strategy: 'exact', maxTokens: 500 }))).toMatchObject({ strategy: 'exact', maxTokens: 500 })
  })

  it(`${promise('ISO-5')} has the limits of the sub-agent if that runs it, and its own limits first of all`, () => {
    const others = { executor: { enabled: true, maxTurns: 7, maxTime: 5_000 } }
    expect(planFor(others)).toMatchObject({ maxTurns: 3, maxTime: 120_000 })
    const agent = { ...others, isolation: { ...isolation, strategy: 'agent' as const } }
    expect(planFor(agent)).toMatchObject({ maxTurns: 7, maxTime: 5_000, maxTokens: 2_000 })
    expect(planFor({ ...agent, ...ruled({ maxTurns: 1 }) })).toMatchObject({ maxTurns: 1, maxTime: 5_000 })
  })
})
