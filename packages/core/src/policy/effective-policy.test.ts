import { describe, expect, it } from 'vitest'
import { type PolicySources, resolvePolicy, type SourcedFields } from './effective-policy.ts'
import type { PolicyFields } from './tools-file.ts'

const written = (fields: PolicyFields, line = 1, file = 'tools.yaml'): SourcedFields => ({
  fields,
  locateRule: () => ({ file, line }),
})

const SOURCES: PolicySources = {
  entries: [],
  patterns: [],
  inferred: {
    category: 'mcp',
    risk: { value: 'medium', reason: 'inferred: no known verb' },
    permission: { value: ['READ', 'WRITE', 'CONNECT'], reason: 'inferred' },
  },
  defaults: {
    low: { allowedInModes: ['NORMAL', 'ALERT', 'DEGRADED'], requiresApproval: false },
    medium: { allowedInModes: ['NORMAL', 'DEGRADED'], requiresApproval: false },
    high: { allowedInModes: ['NORMAL'], requiresApproval: true },
  },
  enforce: true,
}

const policyOf = (sources: Partial<PolicySources>) => resolvePolicy({ ...SOURCES, ...sources })

describe('the policy of a tool', () => {
  it('has the inferred values and the defaults of the risk, if nothing is written', () => {
    const policy = policyOf({})
    expect(policy.risk).toEqual({ value: 'medium', reason: 'inferred: no known verb' })
    expect(policy.allowedInModes).toEqual({ value: ['NORMAL', 'DEGRADED'], reason: 'the default for medium risk' })
    expect([policy.requiresApproval.value, policy.secrets.value, policy.hidden.value]).toEqual([false, 'refuse', false])
  })

  it('has the values of an entry, with their source locations', () => {
    const { risk, requiresApproval, allowedInModes } = policyOf({ entries: [written({ riskLevel: 'high' }, 12)] })
    expect(risk).toEqual({ value: 'high', reason: 'as written', rule: { file: 'tools.yaml', line: 12 } })
    expect([requiresApproval.value, allowedInModes.value]).toEqual([true, ['NORMAL']])
  })

  it('has the value of a pattern only if no entry sets the field', () => {
    const patterns = [written({ riskLevel: 'high', hidden: true }, 3, 'config.yaml')]
    const policy = policyOf({ patterns, entries: [written({ riskLevel: 'low' })] })
    expect([policy.risk.value, policy.hidden]).toEqual([
      'low',
      { value: true, reason: 'as written', rule: { file: 'config.yaml', line: 3 } },
    ])
  })

  it('has the stricter value of each field if two entries match the tool', () => {
    const one = written(
      {
        riskLevel: 'low',
        requiresApproval: true,
        allowedInModes: ['NORMAL', 'ALERT'],
        permission: ['READ'],
        secrets: 'allow',
        essential: true,
        timeoutSeconds: 30,
        allowedPaths: ['/a/**'],
        unattendedPaths: ['/a/**'],
      },
      1,
    )
    const other = written(
      {
        riskLevel: 'high',
        requiresApproval: false,
        allowedInModes: ['ALERT', 'DEGRADED', 'LOCKDOWN'],
        permission: ['CONNECT'],
        secrets: 'redact',
        essential: false,
        timeoutSeconds: 5,
        allowedPaths: ['/b/**'],
        unattendedPaths: ['/b/**'],
      },
      2,
    )
    for (const entries of [
      [one, other],
      [other, one],
    ]) {
      const policy = policyOf({ entries })
      expect(policy.risk.value).toBe('high')
      expect(policy.requiresApproval).toMatchObject({ value: true, rule: { line: 1 } })
      expect(policy.allowedInModes.value).toEqual(['ALERT'])
      expect(policy.permission.value).toEqual(['READ', 'CONNECT'])
      expect([policy.secrets.value, policy.essential.value, policy.timeoutSeconds?.value]).toEqual(['redact', false, 5])
      expect(policy.allowedPaths).toHaveLength(2)
      expect(policy.unattendedPaths).toEqual([])
    }
  })

  it('has a reason for every value, even if nothing is written', () => {
    const byDefault = { reason: 'the default' }
    expect(policyOf({ enforce: false })).toEqual({
      category: { value: 'mcp', reason: 'the source of the tool' },
      permission: SOURCES.inferred.permission,
      risk: SOURCES.inferred.risk,
      requiresApproval: { value: false, reason: 'the default for medium risk' },
      requiresApprovalInModes: { value: [], ...byDefault },
      allowedInModes: { value: ['NORMAL', 'DEGRADED'], reason: 'the default for medium risk' },
      forbiddenInModes: { value: [], ...byDefault },
      essential: { value: false, ...byDefault },
      hidden: { value: false, ...byDefault },
      enforce: { value: false, reason: 'governance.enforce' },
      secrets: { value: 'refuse', ...byDefault },
      ...{
        allowedPaths: [],
        forbiddenPaths: [],
        unattendedPaths: [],
        pathArguments: undefined,
        arguments: [],
        sensitivity: [],
        pin: [],
      },
      ...{ timeoutSeconds: undefined, rateLimitPerMinute: undefined, maxConcurrent: undefined, isolated: undefined },
      ...{ result: undefined, descriptionOverride: undefined, rename: undefined },
    })
    for (const level of ['low', 'high'] as const) {
      const policy = policyOf({ inferred: { ...SOURCES.inferred, risk: { value: level, reason: 'x' } } })
      expect(policy.requiresApproval).toEqual({ value: level === 'high', reason: `the default for ${level} risk` })
    }
  })

  it('has every field of an entry, as written', () => {
    const rule = { file: 'tools.yaml', line: 4 }
    const as = <Value>(value: Value) => ({ value, reason: 'as written', rule })
    const rules = { fields: {}, denyPatterns: ['x'] }
    const fields: PolicyFields = {
      ...{ category: 'files', permission: ['READ'], riskLevel: 'low', requiresApproval: true, hidden: true },
      ...{ requiresApprovalInModes: ['ALERT'], allowedInModes: ['NORMAL'], forbiddenInModes: ['LOCKDOWN'] },
      ...{ essential: true, enforce: false, secrets: 'allow', allowedPaths: ['/a'], forbiddenPaths: ['/b'] },
      ...{ unattendedPaths: ['/c'], pathArguments: ['p'], arguments: rules, timeoutSeconds: 1, maxConcurrent: 3 },
      ...{ rateLimitPerMinute: 2, isolated: false, result: 'short', descriptionOverride: 'd', rename: 'n', pin: 'p' },
      ...{ sensitivity: 'SECRET', sensitivePaths: ['/d'] },
    }
    expect(policyOf({ entries: [written(fields, 4)] })).toEqual({
      ...{ category: as('files'), permission: as(['READ']), risk: as('low'), requiresApproval: as(true) },
      ...{ requiresApprovalInModes: as(['ALERT']), allowedInModes: as(['NORMAL']), forbiddenInModes: as(['LOCKDOWN']) },
      sensitivity: [as({ sensitivity: 'SECRET', paths: ['/d'] })],
      ...{ essential: as(true), hidden: as(true), enforce: as(false), secrets: as('allow') },
      ...{ allowedPaths: [as(['/a'])], forbiddenPaths: [as(['/b'])], unattendedPaths: ['/c'], pathArguments: ['p'] },
      ...{ arguments: [as(rules)], timeoutSeconds: as(1), rateLimitPerMinute: as(2), maxConcurrent: as(3) },
      ...{ isolated: as(false), result: as('short'), descriptionOverride: as('d'), rename: as('n'), pin: [as('p')] },
    })
  })

  it('has the stricter value of two entries, in any order', () => {
    const pairs: readonly (readonly [PolicyFields, PolicyFields])[] = [
      [{ hidden: true }, { hidden: false }],
      [{ enforce: true }, { enforce: false }],
      [{ essential: false }, { essential: true }],
      [{ secrets: 'refuse' }, { secrets: 'redact' }],
      [{ riskLevel: 'medium' }, { riskLevel: 'low' }],
      [{ isolated: true }, { isolated: false }],
      [{ isolated: { strategy: 'bounded' } as never }, { isolated: false }],
      [{ rateLimitPerMinute: 1 }, { rateLimitPerMinute: 2 }],
      [{ maxConcurrent: 1 }, { maxConcurrent: 2 }],
      [{ timeoutSeconds: 1 }, { timeoutSeconds: 2 }],
    ]
    for (const [strict, lax] of pairs)
      for (const entries of [
        [written(strict), written(lax)],
        [written(lax), written(strict)],
      ])
        expect(policyOf({ entries })).toMatchObject(policyOf({ entries: [written(strict)] }))
  })

  it('has the value of the first entry if neither is stricter', () => {
    const fields = (name: string): PolicyFields => ({
      category: name,
      result: name,
      descriptionOverride: name,
      rename: name,
    })
    const policy = policyOf({ entries: [written(fields('one'), 1), written(fields('two'), 2)] })
    for (const field of ['category', 'result', 'descriptionOverride', 'rename'] as const)
      expect(policy[field]).toMatchObject({ value: 'one', rule: { line: 1 } })
    const same = policyOf({ entries: [written({ riskLevel: 'high' }, 1), written({ riskLevel: 'high' }, 2)] })
    expect(same.risk.rule?.line).toBe(1)
  })

  it('merges the lists of several entries without duplicates', () => {
    const policy = policyOf({
      entries: [
        written({ pathArguments: ['a', 'b'], forbiddenInModes: ['ALERT'], permission: ['CONNECT', 'READ'] }, 1),
        written({ pathArguments: ['b', 'c'], forbiddenInModes: ['ALERT', 'LOCKDOWN'], permission: ['READ'] }, 2),
      ],
    })
    expect(policy.pathArguments).toEqual(['a', 'b', 'c'])
    expect(policy.forbiddenInModes).toMatchObject({ value: ['ALERT', 'LOCKDOWN'], rule: { line: 1 } })
    expect(policy.permission.value).toEqual(['READ', 'CONNECT'])
    expect(policyOf({ entries: [written({ permission: ['CONNECT', 'READ', 'READ'] })] }).permission.value).toEqual([
      ...['READ', 'CONNECT'],
    ])
    expect(policyOf({ entries: [written({ pathArguments: ['b', 'a', 'b'] })] }).pathArguments).toEqual(['b', 'a'])
  })

  it('is allowed only in modes that every entry allows, with the rule of the shortest list', () => {
    const lists = [
      ['NORMAL', 'ALERT', 'DEGRADED'],
      ['DEGRADED', 'NORMAL'],
      ['NORMAL', 'ALERT', 'LOCKDOWN'],
    ] as const
    const entries = lists.map((allowedInModes, at) => written({ allowedInModes }, at + 1))
    expect(policyOf({ entries }).allowedInModes).toEqual({
      ...{ value: ['NORMAL'], reason: 'as written', rule: { file: 'tools.yaml', line: 2 } },
    })
  })

  it('ignores an undefined field', () => {
    const fields = { riskLevel: undefined, hidden: undefined } as unknown as PolicyFields
    expect(policyOf({ entries: [written(fields)] })).toEqual(policyOf({}))
    const patterns = [written({ hidden: true })]
    expect(policyOf({ patterns, entries: [written(fields)] }).hidden.value).toBe(true)
  })

  it('is never allowed if a list of modes is empty', () => {
    expect(policyOf({ entries: [written({ allowedInModes: [] })] }).allowedInModes.value).toEqual([])
  })
})
