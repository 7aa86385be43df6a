import type { Json } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { type EditResult, type FieldChange, parseToolsFile, setField, setFields } from './tools-file.ts'
import { yaml12 } from './yaml-oracle.test-kit.ts'

const PIN: FieldChange = { key: 'a', field: 'pin', value: 'sha256-new' }

function changed(text: string, change: Partial<FieldChange> = {}): string {
  const outcome = setField(parseToolsFile(text), { ...PIN, ...change })
  if (!outcome.ok) expect.fail(outcome.why)
  return outcome.text
}

const refusal = (change: EditResult): string => (change.ok ? expect.fail('expected a refusal') : change.why)

describe('a field that an entry has', () => {
  it.each([
    ['tools:\n  a:\n    pin: "old"\n', 'tools:\n  a:\n    pin: "sha256-new"\n'],
    ['tools:\n  a:\n    pin: old # so\n  b:\n', 'tools:\n  a:\n    pin: "sha256-new" # so\n  b:\n'],
    ["tools:\r\n  'a':\r\n    pin:   'old'   \r\n", 'tools:\r\n  \'a\':\r\n    pin:   "sha256-new"   \r\n'],
    ['tools:\n  a:\n    pin: # none\n', 'tools:\n  a:\n    pin: "sha256-new" # none\n'],
    ['tools:\n  a:\n    pin:', 'tools:\n  a:\n    pin: "sha256-new"'],
    [
      'tools:\n  a:\n    pin: "o: l\\"d" # "x"\n    x: |\n      y\n',
      'tools:\n  a:\n    pin: "sha256-new" # "x"\n    x: |\n      y\n',
    ],
    ['tools:\n  a:\n    pin : "o\n      ld" # x\n', 'tools:\n  a:\n    pin : "sha256-new" # x\n'],
    [
      'tools:\n  b:\n    pin: x\n  a:\n    ? b\n    : c\n    pin: x\n',
      'tools:\n  b:\n    pin: x\n  a:\n    ? b\n    : c\n    pin: "sha256-new"\n',
    ],
  ])('gets another value, and everything else stays the same: %j', (before, after) => {
    expect(changed(before)).toBe(after)
  })

  it('is found in the other spelling', () => {
    expect(changed('tools:\n  a:\n    requiresApproval: true\n', { field: 'requires_approval', value: false })).toBe(
      'tools:\n  a:\n    requiresApproval: false\n',
    )
  })

  it('gets another comment if one is given', () => {
    const text = 'tools:\n  a:\n    pin: old   # why\n    note: |\n      x\n'
    expect(changed(text, { comment: 'by me\n  b: {}' })).toBe(text.replace('old   # why', '"sha256-new" # by me b: {}'))
    expect(changed('tools:\n  a:\n    pin: old', { comment: 'x' })).toBe('tools:\n  a:\n    pin: "sha256-new" # x')
  })

  it('gets another comment in place of a guess, and keeps what a person wrote', () => {
    const text = (comment: string) => `tools:\n  a:\n    pin: old   # ${comment}\n`
    const change = { insteadOfGuess: 'set by ann' }
    expect(changed(text('inferred: "x"'), change)).toBe('tools:\n  a:\n    pin: "sha256-new" # set by ann\n')
    expect(changed(text('inferred by me'), change)).toBe('tools:\n  a:\n    pin: "sha256-new"   # inferred by me\n')
    expect(changed(text('inferred: "x"'), { ...change, comment: 'y' })).toBe(
      'tools:\n  a:\n    pin: "sha256-new" # y\n',
    )
  })

  it.each([
    ['    allowed_in_modes: [NORMAL, # one\n      ALERT]\n', '    allowed_in_modes: ["ALERT"]\n'],
    ['    allowed_in_modes:\n      - NORMAL\n      - ALERT\n', '    allowed_in_modes:\n      ["ALERT"]\n'],
    ['    allowed_in_modes:\n    - NORMAL\n    # next\n', '    allowed_in_modes:\n     ["ALERT"]\n    # next\n'],
  ])('may be a list in any style: %j', (before, after) => {
    const change = { field: 'allowed_in_modes', value: ['ALERT'] }
    const head = 'tools:\n  a:\n    hidden: "\\x41"\n'
    expect(changed(`${head}${before}  b:\n`, change)).toBe(`${head}${after}  b:\n`)
  })

  it.each<readonly [string, Json]>([
    ['note', 'a: b # "c" \\ \u2028 é \u{1f600}'],
    ['timeout_seconds', 30],
    ['permission', ['READ', 'WRITE']],
    ['isolated', { strategy: 'bounded', returns: { 'odd: key': [1, null, { deep: true }] } }],
    ['hidden', false],
  ])('can have any type: %s', (field, value) => {
    const text = changed(`tools:\n  a:\n    ${field}: x\n`, { field, value })
    expect(yaml12(text)).toEqual({ value: { tools: { a: { [field]: value } } } })
  })
})

describe('a field that an entry does not have', () => {
  it.each([
    ['tools:\n  a:\n', 'tools:\n  a:\n    pin: "sha256-new"\n'],
    ['tools:\n  a:', 'tools:\n  a:\n    pin: "sha256-new"\n'],
    [
      'tools:\n   a:\n       hidden: true\n       # hint\n\n   # about b\n   b:\n',
      'tools:\n   a:\n       hidden: true\n       pin: "sha256-new"\n       # hint\n\n   # about b\n   b:\n',
    ],
    [
      'tools:\n  a:\n    note: |\n      # x\n\n  b:\n    pin: y\n',
      'tools:\n  a:\n    note: |\n      # x\n    pin: "sha256-new"\n\n  b:\n    pin: y\n',
    ],
    [
      'tools:\n  a:\n    note: |+\n      x\n\n  b:\n    pin: y\n',
      'tools:\n  a:\n    pin: "sha256-new"\n    note: |+\n      x\n\n  b:\n    pin: y\n',
    ],
    [
      'x: &x\n  pin: y\ntools:\n  a:\n    <<: *x\n  b:\n    <<: *x\n',
      'x: &x\n  pin: y\ntools:\n  a:\n    <<: *x\n    pin: "sha256-new"\n  b:\n    <<: *x\n',
    ],
    ['tools:\r\n  a:\r\n    hidden: true', 'tools:\r\n  a:\r\n    hidden: true\r\n    pin: "sha256-new"\r\n'],
  ])('is added on its own line: %j', (before, after) => {
    expect(changed(before)).toBe(after)
  })

  it('is added with its comment', () => {
    expect(changed('tools:\n  a:\n', { comment: 'accepted' })).toBe('tools:\n  a:\n    pin: "sha256-new" # accepted\n')
  })
})

describe('a field that is not set', () => {
  it.each<readonly [string, RegExp, Partial<FieldChange>]>([
    ['tools:\n  b:\n', /^there is no entry "a"/, {}],
    ['tools:\n  a: {pin: x}\n', /block style/, {}],
    ['tools:\n  a: ~\n', /block style/, {}],
    ['tools: {a: {pin: x}}\n', /flow style/, {}],
    ['x: &x\n  pin: y\ntools:\n  a: *x\n', /the entry is an alias/, {}],
    ['x: &x y\ntools:\n  a:\n    pin: *x\n', /the value of pin is an alias/, {}],
    ['tools:\n  a:\n    pin: &x y\n  b:\n    pin: *x\n', /anchor/, {}],
    ['tools:\n  a:\n    pin: !!str y\n', /tag/, {}],
    ['tools:\n  a:\n    pin: |\n      y\n', /block scalar/, {}],
    ['tools:\n  a: &x\n    hidden: true\n  b: *x\n', /changing other parts/, {}],
    ['tools:\n  a: &x\n    pin: y\n  b:\n    <<: *x\n', /changing other parts/, {}],
    ['tools:\n  a:\n    hidden: true\n    hidden: false\n', /^it cannot be read: line 4/, {}],
    ['tools:\n  a:\n    allowed_in_modes:\n      - ALERT # x\n', /comments/, { field: 'allowed_in_modes', value: [] }],
    ['tools:\n  a:\n', /^risk_level: expected/, { field: 'risk_level', value: 'hgih' }],
    ['tools:\n  a:\n', /not known/, { field: 'pins', value: 'x' }],
    ['tools:\n  a:\n', /not known/, { field: 'pin: x\n    hidden', value: true }],
  ])('leaves the file unchanged, with a reason: %j', (text, why, change) => {
    expect(refusal(setField(parseToolsFile(text), { ...PIN, ...change }))).toMatch(why)
  })
})

describe('several fields', () => {
  const set = (text: string, ...changes: readonly FieldChange[]): string => {
    const outcome = setFields(parseToolsFile(text), changes)
    return outcome.ok ? outcome.text : expect.fail(outcome.why)
  }
  const high: FieldChange = { key: 'a', field: 'risk_level', value: 'high' }
  const asks: FieldChange = { key: 'a', field: 'requires_approval', value: true }

  it('are set in one entry and in several, in any order', () => {
    const text = 'tools:\n  b:\n    risk_level: low # b\n  a: # mine\n    risk_level: low # so\n'
    expect(set(text, asks, { ...high, key: 'b' }, high)).toBe(
      'tools:\n  b:\n    risk_level: "high" # b\n  a: # mine\n    risk_level: "high" # so\n    requires_approval: true\n',
    )
  })

  it.each([
    ['tools:\n  a:', 'tools:\n  a:\n    risk_level: "high"\n    requires_approval: true\n'],
    ['tools:\n  a:\n    note: x', 'tools:\n  a:\n    note: x\n    risk_level: "high"\n    requires_approval: true\n'],
  ])('are added at the end of a file without a last line break: %j', (before, after) => {
    expect(set(before, high, asks)).toBe(after)
  })

  it('may be one field twice: the last value is used', () => {
    const low = { ...high, value: 'low' }
    expect(set('tools:\n  a:\n    risk_level: medium\n', high, low)).toBe('tools:\n  a:\n    risk_level: "low"\n')
    expect(set('tools:\n  a:\n', high, low)).toBe('tools:\n  a:\n    risk_level: "low"\n')
  })

  it('are all refused if one is', () => {
    const wrong = { ...high, key: 'nobody' }
    expect(refusal(setFields(parseToolsFile('tools:\n  a:\n'), [high, wrong]))).toContain('nobody')
  })
})
