import { describe, expect, it } from 'vitest'
import { resolvePolicy, type ToolPolicy } from './effective-policy.ts'
import { stricterPolicy } from './stricter-policy.ts'
import type { PolicyFields } from './tool-policy.ts'

const policyFor = (fields: PolicyFields): ToolPolicy =>
  resolvePolicy({
    entries: [{ fields, ruleOf: () => ({ file: 'tools.yaml', line: 1 }) }],
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
  it.each([
    ['the first is the strict one', STRICT, LAX],
    ['the second is', LAX, STRICT],
  ])('takes nothing that is laxer, where %s', (_title, one, other) => {
    expect(valuesOf(stricterPolicy(policyFor(one), policyFor(other)))).toEqual({
      ...{ risk: 'high', permission: ['READ', 'WRITE'], approval: true, modes: ['NORMAL'], hidden: true },
      ...{ enforce: true, secrets: 'refuse', essential: false, forbidden: ['ALERT'], asked: ['ALERT'] },
      ...{ timeout: 30, rate: 5, most: 100, allowedPaths: [['/app']], unattended: [] },
    })
  })

  it('is the same policy where nothing differs', () => {
    const policy = policyFor({ riskLevel: 'low', unattendedPaths: ['/tmp'] })
    expect(stricterPolicy(policy, policy)).toEqual(policy)
  })
})
