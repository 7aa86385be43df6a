import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { MODES, type Mode } from './mode.ts'
import { type ApprovalTraits, evaluateMode, type ModeRules, type ModeTraits, resolveApproval } from './mode-rules.ts'
import type { Permission } from './permission.ts'
import type { PolicyValue } from './tools-file.ts'

const FILE = '/home/ann/tools.yaml'

const at = <Value>(value: Value, line: number): PolicyValue<Value> => ({
  value,
  reason: `line ${line}`,
  rule: { file: FILE, line },
})
const given = <Value>(value: Value): PolicyValue<Value> => ({ value, reason: 'the default' })

interface Written {
  readonly allowed?: readonly Mode[]
  readonly forbidden?: readonly Mode[]
  readonly permission?: readonly Permission[]
  readonly essential?: boolean
  readonly category?: string
}

/** A low-risk tool as discovery writes it, with the changes of a test. */
const tool = (written: Written = {}): ModeTraits => ({
  allowedInModes: at(written.allowed ?? ['NORMAL', 'ALERT', 'DEGRADED'], 1),
  forbiddenInModes: at(written.forbidden ?? [], 2),
  permission: at(written.permission ?? ['READ'], 3),
  essential: at(written.essential ?? false, 4),
  category: given(written.category ?? 'mcp'),
})

type Policies = Partial<Record<Mode, readonly string[] | undefined>>

const stateOf = (mode: Mode, policies: Policies = {}): ModeRules => ({
  mode,
  policies: new Map(
    Object.entries(policies).map(([name, allowedCategories]) => [
      name as Mode,
      { line: 50, ...(allowedCategories && { allowedCategories }) },
    ]),
  ),
  categories: new Map([
    ['deploy', { line: 60, requiresApprovalInModes: ['ALERT', 'DEGRADED'] }],
    ['described', { line: 61, description: 'and nothing else' }],
  ]),
  file: FILE,
})

/** The modes in which a tool can be called. */
const openIn = (written: Written, policies?: Policies): readonly Mode[] =>
  MODES.filter((mode) => evaluateMode(tool(written), stateOf(mode, policies)).outcome === 'allow')

describe(`${promise('GOV-12')} a tool and the mode`, () => {
  it.each<readonly [string, Written, readonly Mode[]]>([
    ['a low READ tool', {}, ['NORMAL', 'ALERT', 'DEGRADED', 'RECOVERY']],
    ['a medium one', { allowed: ['NORMAL', 'DEGRADED'] }, ['NORMAL', 'DEGRADED', 'RECOVERY']],
    ['a high one that writes', { allowed: ['NORMAL'], permission: ['READ', 'WRITE'] }, ['NORMAL']],
    ['one that reads and connects', { permission: ['READ', 'CONNECT'] }, ['NORMAL', 'ALERT', 'DEGRADED', 'RECOVERY']],
    ['one that connects and does not read', { permission: ['CONNECT'] }, ['NORMAL', 'ALERT', 'DEGRADED']],
    ['an essential READ tool', { essential: true }, MODES],
    [
      'an essential tool that writes',
      { essential: true, permission: ['READ', 'WRITE'] },
      ['NORMAL', 'ALERT', 'DEGRADED'],
    ],
    ['one that is allowed nowhere, though it is an essential READ tool', { allowed: [], essential: true }, []],
    ['one whose entry names LOCKDOWN without being essential', { allowed: ['LOCKDOWN'] }, ['RECOVERY']],
    ['one that writes and is allowed in RECOVERY', { allowed: ['RECOVERY'], permission: ['WRITE'] }, []],
  ])('%s', (_title, written, modes) => {
    expect(openIn(written)).toEqual(modes)
  })

  it.each(MODES)('forbidden in %s cannot be called in it, whatever else is written', (mode) => {
    const written = { allowed: MODES, forbidden: [mode], essential: true }
    expect(openIn(written, { [mode]: ['mcp'] })).toEqual(MODES.filter((other) => other !== mode))
  })
})

describe('a refusal', () => {
  const refusedIn = (mode: Mode, written: Written, policies?: Policies) =>
    evaluateMode(tool(written), stateOf(mode, policies))

  it('names the mode, the rule and its source location', () => {
    expect(refusedIn('ALERT', { allowed: ['NORMAL'] })).toEqual({
      outcome: 'deny',
      code: 'MODE_FORBIDS',
      reason: 'The mode is ALERT: this tool can be called in NORMAL only (line 1).',
      rule: { file: FILE, line: 1 },
    })
    expect(refusedIn('NORMAL', { allowed: [] })).toMatchObject({
      reason: 'The mode is NORMAL: allowed_in_modes of this tool is empty, so it can never be called.',
    })
    expect(refusedIn('RECOVERY', { allowed: ['NORMAL', 'ALERT'], permission: ['WRITE'] })).toMatchObject({
      reason: 'The mode is RECOVERY: only READ tools are allowed.',
      rule: { file: FILE, line: 3 },
    })
    expect(refusedIn('DEGRADED', { allowed: ['NORMAL', 'ALERT'] })).toMatchObject({
      reason: 'The mode is DEGRADED: this tool can be called in NORMAL, ALERT only (line 1).',
    })
    expect(refusedIn('NORMAL', { forbidden: ['NORMAL'] })).toMatchObject({
      reason: 'The mode is NORMAL: forbidden_in_modes of this tool contains it.',
      rule: { file: FILE, line: 2 },
    })
    expect(refusedIn('LOCKDOWN', { permission: ['WRITE'] })).toMatchObject({
      reason: 'The mode is LOCKDOWN: only READ tools marked `essential` are allowed.',
      rule: { file: FILE, line: 3 },
    })
    expect(refusedIn('LOCKDOWN', {})).toMatchObject({ rule: { file: FILE, line: 4 } })
    expect(refusedIn('ALERT', {}, { ALERT: [], NORMAL: ['mcp'] })).toMatchObject({
      reason: 'The mode is ALERT: its policy does not allow tools of the category mcp.',
      rule: { file: FILE, line: 50 },
    })
  })

  it('contains the reason for the mode, if one was given', () => {
    const state = { ...stateOf('LOCKDOWN'), why: 'a key leaked' }
    expect(evaluateMode(tool(), state)).toMatchObject({
      reason: 'The mode is LOCKDOWN (a key leaked): this tool is not marked `essential`.',
    })
  })

  it('has no source location if the rule is not written in a file', () => {
    const low = { ...tool(), allowedInModes: given<readonly Mode[]>(['NORMAL']) }
    expect(evaluateMode(low, stateOf('ALERT'))).not.toHaveProperty('rule')
  })
})

describe('the categories of a mode', () => {
  it('are allowed if its policy names them, and forbidden if only another policy does', () => {
    const policies: Policies = { NORMAL: ['mcp', 'deploy'], ALERT: ['mcp'] }
    expect(openIn({ category: 'mcp' }, policies)).toEqual(['NORMAL', 'ALERT', 'DEGRADED', 'RECOVERY'])
    expect(openIn({ category: 'deploy' }, policies)).toEqual(['NORMAL', 'DEGRADED', 'RECOVERY'])
  })

  it('are not forbidden if no policy names them', () => {
    expect(openIn({ category: 'other' }, { NORMAL: ['mcp'], ALERT: [] })).toEqual([
      'NORMAL',
      'ALERT',
      'DEGRADED',
      'RECOVERY',
    ])
  })

  it('are all allowed by a mode without a policy, and by a policy without a list', () => {
    expect(openIn({ category: 'mcp' }, { ALERT: ['mcp'], NORMAL: undefined })).toContain('NORMAL')
    expect(openIn({ category: 'mcp' }, { ALERT: ['mcp'] })).toContain('DEGRADED')
    expect(openIn({ category: 'mcp' }, { DEGRADED: undefined, ALERT: ['other'] })).toContain('ALERT')
  })

  it('can restrict LOCKDOWN and RECOVERY too, and never widen them', () => {
    const policies: Policies = { LOCKDOWN: ['core'], RECOVERY: ['core'], NORMAL: ['mcp', 'core'] }
    expect(openIn({ essential: true, category: 'core' }, policies)).toEqual(expect.arrayContaining(['LOCKDOWN']))
    expect(openIn({ essential: true, category: 'mcp' }, policies)).toEqual(['NORMAL', 'ALERT', 'DEGRADED'])
    expect(openIn({ permission: ['WRITE'], category: 'core' }, policies)).not.toContain('RECOVERY')
  })

  it('may have the names of inherited object properties', () => {
    expect(openIn({ category: 'constructor' }, { ALERT: ['mcp'] })).toContain('ALERT')
  })
})

describe('approval', () => {
  const traits = (written: Partial<ApprovalTraits> = {}): ApprovalTraits => ({
    requiresApproval: at(false, 5),
    requiresApprovalInModes: at([], 6),
    category: given('mcp'),
    ...written,
  })
  const neededIn = (written: Partial<ApprovalTraits>): readonly Mode[] =>
    MODES.filter((mode) => resolveApproval(traits(written), stateOf(mode)).value)

  it.each<readonly [string, Partial<ApprovalTraits>, readonly Mode[]]>([
    ['is always needed in LOCKDOWN', {}, ['LOCKDOWN']],
    ['is needed in every mode if the tool says so', { requiresApproval: at(true, 5) }, MODES],
    [
      'is needed in the modes that the tool names',
      { requiresApprovalInModes: at(['ALERT'], 6) },
      ['ALERT', 'LOCKDOWN'],
    ],
    ['is needed in those that the category names', { category: given('deploy') }, ['ALERT', 'DEGRADED', 'LOCKDOWN']],
    ['is not needed for an unknown category', { category: given('other') }, ['LOCKDOWN']],
    ['is not needed for a category without such a setting', { category: given('described') }, ['LOCKDOWN']],
  ])('%s', (_title, written, modes) => {
    expect(neededIn(written)).toEqual(modes)
  })

  it('names the rule that requires it', () => {
    const inAlert = (written: Partial<ApprovalTraits>) => resolveApproval(traits(written), stateOf('ALERT'))
    expect(inAlert({ requiresApproval: at(true, 5) })).toEqual(at(true, 5))
    expect(inAlert({ requiresApprovalInModes: at(['ALERT'], 6) })).toEqual({
      value: true,
      reason: 'This tool needs approval while the mode is ALERT.',
      rule: { file: FILE, line: 6 },
    })
    const both = { requiresApproval: at(true, 5), requiresApprovalInModes: at<readonly Mode[]>(['ALERT'], 6) }
    expect(inAlert(both)).toEqual(at(true, 5))
    expect(resolveApproval(traits(), stateOf('LOCKDOWN'))).toEqual({
      value: true,
      reason: 'In LOCKDOWN every call needs approval.',
    })
    expect(inAlert({ category: given('deploy') })).toEqual({
      value: true,
      reason: 'Tools of the category deploy need approval while the mode is ALERT.',
      rule: { file: FILE, line: 60 },
    })
    expect(inAlert({})).toEqual(at(false, 5))
  })
})
