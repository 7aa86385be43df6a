import { describe, expect, it } from 'vitest'
import { readPolicyFields } from './policy-fields.ts'

const problemsOf = (value: unknown): readonly string[] =>
  readPolicyFields(value).issues.map(({ path, problem, severity }) => `${severity} ${path.join('.')}: ${problem}`)

describe('the fields of a tool', () => {
  it('are read in snake case', () => {
    const { fields, issues } = readPolicyFields({
      category: 'mcp',
      permission: ['CONNECT', 'READ'],
      risk_level: 'low',
      requires_approval: false,
      requires_approval_in_modes: ['ALERT'],
      allowed_in_modes: [],
      forbidden_in_modes: ['LOCKDOWN'],
      allowed_paths: ['/srv/**'],
      forbidden_paths: ['/etc/**'],
      unattended_paths: ['/tmp/**'],
      path_arguments: ['target'],
      sensitivity: 'confidential',
      isolated: { strategy: 'bounded' },
      result: { max_tokens: 100 },
      timeout_seconds: 30,
      rate_limit_per_minute: 5,
      max_concurrent: 2,
      description_override: 'Reads',
      rename: 'look',
      hidden: false,
      essential: true,
      enforce: false,
      secrets: 'redact',
      sensitive_paths: ['/srv/hr/**'],
      arguments: { branch: { pattern: '^x', max_length: 9, required: true }, deny_patterns: ['rm -rf'] },
      pin: 'sha256-3f9c',
      note: '',
    })
    expect(issues).toEqual([])
    expect(fields).toEqual({
      category: 'mcp',
      permission: ['READ', 'CONNECT'],
      riskLevel: 'low',
      requiresApproval: false,
      requiresApprovalInModes: ['ALERT'],
      allowedInModes: [],
      forbiddenInModes: ['LOCKDOWN'],
      allowedPaths: ['/srv/**'],
      forbiddenPaths: ['/etc/**'],
      unattendedPaths: ['/tmp/**'],
      pathArguments: ['target'],
      sensitivity: 'CONFIDENTIAL',
      isolated: { strategy: 'bounded' },
      result: { max_tokens: 100 },
      timeoutSeconds: 30,
      rateLimitPerMinute: 5,
      maxConcurrent: 2,
      descriptionOverride: 'Reads',
      rename: 'look',
      hidden: false,
      essential: true,
      enforce: false,
      secrets: 'redact',
      sensitivePaths: ['/srv/hr/**'],
      arguments: {
        fields: { branch: { pattern: '^x', maxLength: 9, required: true } },
        denyPatterns: ['rm -rf'],
      },
      pin: 'sha256-3f9c',
      note: '',
    })
  })

  it('are read in camel case too', () => {
    const { fields, issues } = readPolicyFields({
      riskLevel: 'low',
      allowedInModes: ['NORMAL'],
      arguments: { denyPatterns: ['x'], n: { maxLength: 1 } },
    })
    expect(issues).toEqual([])
    expect(fields).toEqual({
      riskLevel: 'low',
      allowedInModes: ['NORMAL'],
      arguments: { fields: { n: { maxLength: 1 } }, denyPatterns: ['x'] },
    })
  })

  it.each([
    [{ permission: 'write' }, { permission: ['WRITE'] }],
    [{ permission: ['Connect', 'read', 'READ'] }, { permission: ['READ', 'CONNECT'] }],
    [{ risk_level: 'HIGH' }, { riskLevel: 'high' }],
    [{ allowed_in_modes: ['normal', 'Alert'] }, { allowedInModes: ['NORMAL', 'ALERT'] }],
    [{ secrets: 'Allow' }, { secrets: 'allow' }],
    [
      { isolated: true, result: 'brief' },
      { isolated: true, result: 'brief' },
    ],
    [{ timeout_seconds: '500ms' }, { timeoutSeconds: 0.5 }],
    [
      { arguments: { a: { const: null }, b: { enum: [null, { c: 1 }] } } },
      {
        arguments: { fields: { a: { const: null }, b: { enum: [null, { c: 1 }] } }, denyPatterns: [] },
      },
    ],
    [
      { arguments: { 'user.max_length': { min: 0, max: 1 } } },
      {
        arguments: { fields: { 'user.max_length': { min: 0, max: 1 } }, denyPatterns: [] },
      },
    ],
  ])('are read from %j', (given, fields) => {
    expect(readPolicyFields(given)).toEqual({ fields, issues: [] })
  })

  it.each([
    [null, 'error : expected a mapping such as {risk_level: high}; got nothing.'],
    [['a'], 'error : expected a mapping such as {risk_level: high}; got a list.'],
    [{ risk_level: 'hihg' }, 'error risk_level: expected one of low, medium, high; got "hihg". Did you mean "high"?'],
    [{ riskLevel: 3 }, 'error riskLevel: expected one of low, medium, high; got 3.'],
    [{ permission: [] }, 'error permission: expected READ, WRITE or CONNECT, or a list of these; got an empty list.'],
    [
      { permission: ['READ', 'RITE'] },
      'error permission.1: expected one of READ, WRITE, CONNECT; got "RITE". Did you mean "WRITE"?',
    ],
    [{ permission: 'EXECUTE' }, 'error permission: expected one of READ, WRITE, CONNECT; got "EXECUTE".'],
    [
      { allowed_in_modes: 'NORMAL' },
      'error allowed_in_modes: expected a list of modes, such as [NORMAL, ALERT]; got "NORMAL".',
    ],
    [
      { allowed_in_modes: null },
      'error allowed_in_modes: expected a list of modes, such as [NORMAL, ALERT]; got nothing.',
    ],
    [{ requires_approval: 'yes' }, 'error requires_approval: expected true or false; got "yes".'],
    [{ rate_limit_per_minute: 0 }, 'error rate_limit_per_minute: expected a whole number from 1 to 1000000; got 0.'],
    [{ isolated: 'no' }, 'error isolated: expected true, false or a mapping such as {strategy: bounded}; got "no".'],
    [
      { arguments: { a: { max: Number.POSITIVE_INFINITY } } },
      'error arguments.a.max: expected a number; got Infinity.',
    ],
    [
      { arguments: { a: { max_length: -1 } } },
      'error arguments.a.max_length: expected a whole number from 0 to 9007199254740991; got -1.',
    ],
    [
      { arguments: { a: 'x' } },
      'error arguments.a: expected a rule such as {enum: [a, b]}, {pattern: "^x"} or {forbidden: true}; got "x".',
    ],
    [
      { arguments: { deny_patterns: 'rm' } },
      'error arguments.deny_patterns: expected a list of regular expressions; got "rm".',
    ],
    [{ arguments: { a: { patern: 'x' } } }, 'error arguments.a.patern: this key is not known. Did you mean "pattern"?'],
    [
      { risk_level: 'low', riskLevel: 'high' },
      'error riskLevel: the same key is also here in another spelling. Keep one of them.',
    ],
    [
      { alowed_paths: [] },
      'warning alowed_paths: this key is not known. Did you mean "allowed_paths"? Calls are refused until it is corrected.',
    ],
    [
      { alowedPaths: [] },
      'warning alowedPaths: this key is not known. Did you mean "allowedPaths"? Calls are refused until it is corrected.',
    ],
    [{ hiden: false }, 'warning hiden: this key is not known and is ignored. Did you mean "hidden"?'],
    [{ nota: 'x' }, 'warning nota: this key is not known and is ignored. Did you mean "note"?'],
    [{ constructor: 1 }, 'warning constructor: this key is not known and is ignored.'],
  ])('are reported as wrong in %j', (given, problem) => {
    expect(problemsOf(given)).toEqual([problem])
  })

  it('are all validated in one run', () => {
    expect(problemsOf({ risk_level: 1, hidden: 'x', allowed_paths: [''], whatever: 1 })).toHaveLength(4)
  })

  it('of a hostile value cannot change a prototype', () => {
    const given = JSON.parse('{"__proto__": {"hidden": true}, "arguments": {"__proto__": {"forbidden": true}}}')
    const { fields, issues } = readPolicyFields(given)
    expect(issues).toMatchObject([{ path: ['__proto__'], severity: 'warning' }])
    expect(fields.hidden).toBeUndefined()
    expect(Object.keys(fields.arguments?.fields ?? {})).toEqual(['__proto__'])
  })

  it('may be nested to any depth', () => {
    let deep: unknown = 1
    for (let level = 0; level < 20_000; level++) deep = level % 2 === 0 ? [deep] : { deep }
    const everywhere = {
      allowed_paths: deep,
      isolated: deep,
      arguments: { a: deep, b: { const: deep }, c: { enum: [deep] } },
    }
    expect(() => readPolicyFields(everywhere)).not.toThrow()
    expect(() => readPolicyFields(deep)).not.toThrow()
  })
})
