import { describe, expect, it } from 'vitest'
import { resolvePolicy, type ToolPolicy } from './effective-policy.ts'
import { mergePolicies } from './merge-policies.ts'
import type { PolicyFields } from './tools-file.ts'

const RULES = { fields: { a: { max: 1 } }, denyPatterns: ['x'] }

const policyFor = (fields: PolicyFields, line = 1): ToolPolicy =>
  resolvePolicy({
    entries: [{ fields, locateRule: () => ({ file: 'tools.yaml', line }) }],
    patterns: [],
    inferred: {
      category: 'mcp',
      risk: { value: 'medium', reason: 'its name' },
      permission: { value: ['READ'], reason: 'its name' },
    },
    defaults: {
      low: { allowedInModes: ['NORMAL', 'ALERT', 'DEGRADED'], requiresApproval: false },
      medium: { allowedInModes: ['NORMAL', 'DEGRADED'], requiresApproval: false },
      high: { allowedInModes: ['NORMAL'], requiresApproval: true },
    },
    enforce: true,
  })

const LAX: PolicyFields = {
  riskLevel: 'low',
  permission: ['READ'],
  requiresApproval: false,
  allowedInModes: ['NORMAL', 'ALERT', 'DEGRADED'],
  essential: true,
  hidden: false,
  enforce: false,
  secrets: 'allow',
  unattendedPaths: ['/'],
  timeoutSeconds: 600,
  maxConcurrent: 100,
}

const STRICT: PolicyFields = {
  riskLevel: 'high',
  permission: ['READ', 'WRITE'],
  requiresApproval: true,
  requiresApprovalInModes: ['ALERT'],
  allowedInModes: ['NORMAL'],
  forbiddenInModes: ['ALERT'],
  allowedPaths: ['/app'],
  forbiddenPaths: ['/app/.env'],
  hidden: true,
  secrets: 'refuse',
  timeoutSeconds: 30,
  rateLimitPerMinute: 5,
}

const valuesOf = ({ risk, permission, requiresApproval, allowedInModes, hidden, enforce, ...rest }: ToolPolicy) => ({
  ...{ risk: risk.value, permission: permission.value, approval: requiresApproval.value, enforce: enforce.value },
  ...{
    modes: allowedInModes.value,
    hidden: hidden.value,
    secrets: rest.secrets.value,
    essential: rest.essential.value,
  },
  ...{ forbidden: rest.forbiddenInModes.value, asked: rest.requiresApprovalInModes.value },
  ...{ timeout: rest.timeoutSeconds?.value, rate: rest.rateLimitPerMinute?.value, most: rest.maxConcurrent?.value },
  ...{ allowedPaths: rest.allowedPaths.map(({ value }) => value), unattended: rest.unattendedPaths },
})

describe('the stricter of two policies', () => {
  it('refuses every call if either has a misspelt key', () => {
    const [misspelt, right] = [policyFor({ misspelt: 'hiden' }), policyFor({})]
    expect(mergePolicies(misspelt, right).misspelt?.value).toBe('hiden')
    expect(mergePolicies(right, misspelt).misspelt?.value).toBe('hiden')
    expect(mergePolicies(right, right).misspelt).toBeUndefined()
  })

  it.each([
    ['the first is the strict one', STRICT, LAX],
    ['the second is the strict one', LAX, STRICT],
  ])('never takes a less strict value, if %s', (_title, one, other) => {
    expect(valuesOf(mergePolicies(policyFor(one), policyFor(other)))).toEqual({
      ...{ risk: 'high', permission: ['READ', 'WRITE'], approval: true, modes: ['NORMAL'], hidden: true },
      ...{ enforce: true, secrets: 'refuse', essential: false, forbidden: ['ALERT'], asked: ['ALERT'] },
      ...{ timeout: 30, rate: 5, most: 100, allowedPaths: [['/app']], unattended: [] },
    })
  })

  it('joins the lists that forbid or limit, in order', () => {
    const one = policyFor({ allowedPaths: ['/a'], forbiddenPaths: ['/a/x'], arguments: RULES, pin: 'one' })
    const other = policyFor({ allowedPaths: ['/b'], forbiddenPaths: ['/b/x'], arguments: RULES, pin: 'two' })
    const policy = mergePolicies(one, other)
    expect(policy.allowedPaths.map(({ value }) => value)).toEqual([['/a'], ['/b']])
    expect(policy.forbiddenPaths.map(({ value }) => value)).toEqual([['/a/x'], ['/b/x']])
    expect(policy.arguments).toEqual([...one.arguments, ...other.arguments])
    expect(policy.arguments).toHaveLength(2)
  })

  it('takes path arguments and pins from the second one', () => {
    const one = policyFor({ pathArguments: ['a'], pin: 'one', category: 'mine', rename: 'x' })
    const other = policyFor({ pathArguments: ['b'], pin: 'two', category: 'theirs', rename: 'y' })
    const policy = mergePolicies(one, other)
    expect([policy.pathArguments, policy.pin[0]?.value]).toEqual([['b'], 'two'])
    expect([policy.category.value, policy.rename?.value]).toEqual(['mine', 'x'])
    expect(policy.pin).toHaveLength(1)
  })

  it('has the reason of the stricter one, or of the first if both are equally strict', () => {
    const [low, high] = [policyFor(LAX), policyFor(STRICT)]
    for (const field of ['risk', 'requiresApproval', 'hidden', 'secrets', 'timeoutSeconds'] as const) {
      expect(mergePolicies(low, high)[field]).toBe(high[field])
      expect(mergePolicies(high, low)[field]).toBe(high[field])
      const twin = policyFor(STRICT)
      expect(mergePolicies(high, twin)[field]).toBe(high[field])
    }
    const essential = mergePolicies(low, high).essential
    expect(essential).toBe(high.essential)
    expect(mergePolicies(low, high).enforce).toBe(high.enforce)
  })

  it('has the limit of the only one that has one', () => {
    const [none, some] = [policyFor({}), policyFor({ timeoutSeconds: 5, maxConcurrent: 2, rateLimitPerMinute: 9 })]
    for (const policy of [mergePolicies(none, some), mergePolicies(some, none)])
      expect([policy.timeoutSeconds?.value, policy.maxConcurrent?.value, policy.rateLimitPerMinute?.value]).toEqual([
        ...[5, 2, 9],
      ])
    expect(mergePolicies(none, none).timeoutSeconds).toBeUndefined()
  })

  it('names the rule of the longer forbidding list, or of the shorter allowing list', () => {
    const at = (line: number, fields: PolicyFields): ToolPolicy => policyFor(fields, line)
    const few = at(1, { forbiddenInModes: ['ALERT'], allowedInModes: ['NORMAL', 'ALERT'], permission: ['READ'] })
    const many = at(2, {
      forbiddenInModes: ['NORMAL', 'DEGRADED'],
      allowedInModes: ['NORMAL'],
      permission: ['WRITE', 'CONNECT'],
    })
    const both = [mergePolicies(few, many), mergePolicies(many, few)]
    for (const policy of both) {
      expect(policy.forbiddenInModes.rule?.line).toBe(2)
      expect(policy.allowedInModes).toMatchObject({ value: ['NORMAL'], rule: { line: 2 } })
      expect(policy.permission).toMatchObject({ value: ['READ', 'WRITE', 'CONNECT'], rule: { line: 2 } })
    }
    expect(both.map(({ forbiddenInModes }) => forbiddenInModes.value)).toEqual([
      ['ALERT', 'NORMAL', 'DEGRADED'],
      ['NORMAL', 'DEGRADED', 'ALERT'],
    ])
    const twin = at(3, { forbiddenInModes: ['ALERT'], allowedInModes: ['NORMAL', 'ALERT'] })
    expect(mergePolicies(few, twin).forbiddenInModes.rule?.line).toBe(1)
    expect(mergePolicies(few, twin).allowedInModes.rule?.line).toBe(1)
  })

  it('is the same policy if nothing differs', () => {
    const policy = policyFor({ riskLevel: 'low', unattendedPaths: ['/tmp'] })
    expect(mergePolicies(policy, policy)).toEqual(policy)
  })
})
