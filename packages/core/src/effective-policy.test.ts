import { describe, expect, it } from 'vitest'
import { type PolicySources, resolvePolicy, type WrittenFields } from './effective-policy.ts'
import type { PolicyFields } from './tool-policy.ts'

const written = (fields: PolicyFields, line = 1, file = 'tools.yaml'): WrittenFields => ({
  fields,
  ruleOf: () => ({ file, line }),
})

const SOURCES: PolicySources = {
  entries: [],
  patterns: [],
  inferred: {
    category: 'mcp',
    risk: { value: 'medium', reason: 'inferred: no telling word' },
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
  it('is what was inferred, and the defaults of that risk, where nothing is written', () => {
    const policy = policyOf({})
    expect(policy.risk).toEqual({ value: 'medium', reason: 'inferred: no telling word' })
    expect(policy.allowedInModes).toEqual({ value: ['NORMAL', 'DEGRADED'], reason: 'the default for medium risk' })
    expect([policy.requiresApproval.value, policy.secrets.value, policy.hidden.value]).toEqual([false, 'refuse', false])
  })

  it('is what an entry says, with the place where it says so', () => {
    const { risk, requiresApproval, allowedInModes } = policyOf({ entries: [written({ riskLevel: 'high' }, 12)] })
    expect(risk).toEqual({ value: 'high', reason: 'as written', rule: { file: 'tools.yaml', line: 12 } })
    expect([requiresApproval.value, allowedInModes.value]).toEqual([true, ['NORMAL']])
  })

  it('is what a pattern says only where the entries are silent', () => {
    const patterns = [written({ riskLevel: 'high', hidden: true }, 3, 'config.yaml')]
    const policy = policyOf({ patterns, entries: [written({ riskLevel: 'low' })] })
    expect([policy.risk.value, policy.hidden]).toEqual([
      'low',
      { value: true, reason: 'as written', rule: { file: 'config.yaml', line: 3 } },
    ])
  })

  it('takes the stricter value of each field where two entries name the tool', () => {
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

  it('never is allowed where a list of modes is empty', () => {
    expect(policyOf({ entries: [written({ allowedInModes: [] })] }).allowedInModes.value).toEqual([])
  })
})
