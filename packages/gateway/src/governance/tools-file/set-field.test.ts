import type { Json } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { type EditResult, type FieldChange, parseToolsFile, setField } from './tools-file.ts'
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
