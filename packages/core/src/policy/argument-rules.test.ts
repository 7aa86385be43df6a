import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Json, JsonObject } from '../json/json-value.ts'
import type { CompilePattern } from '../text/text-pattern.ts'
import { compileArgumentRules } from './argument-rules.ts'
import { ALLOW, type Verdict } from './decide.ts'
import type { ArgumentRule } from './tools-file.ts'

/** For patterns that are known to be harmless. */
const compilePattern: CompilePattern = (source) => {
  try {
    const compiled = new RegExp(source, 'u')
    return Object.assign((text: string) => compiled.test(text), { longest: 1000 })
  } catch {
    return { problem: 'no pattern' }
  }
}

const ruleOf = (field: string | undefined) => ({ file: 'tools.yaml', line: field === undefined ? 99 : 1 })

function judge(fields: Readonly<Record<string, ArgumentRule>>, args: JsonObject): Verdict {
  return compileArgumentRules({ fields, denyPatterns: [] }, { compilePattern, locateRule: ruleOf })(args)
}

const deny = (args: JsonObject, ...denyPatterns: readonly string[]): Verdict =>
  compileArgumentRules({ fields: {}, denyPatterns }, { compilePattern, locateRule: ruleOf })(args)

const reasonOf = (verdict: Verdict): string | undefined => (verdict.outcome === 'deny' ? verdict.reason : undefined)

describe(`${promise('GOV-16')} argument rules`, () => {
  it('allow everything if there are none', () => {
    expect(judge({}, { a: 1 })).toBe(ALLOW)
  })

  it.each<[ArgumentRule, Json]>([
    [{ const: 'a' }, 'a'],
    [{ const: { a: [1, { b: null }], c: 2 } }, { c: 2, a: [1, { b: null }] }],
    [{ const: null }, null],
    [{ const: false }, false],
    [{ enum: ['a', 1, [true]] }, [true]],
    [{ pattern: '^[a-z]+$' }, 'abc'],
    [{ pattern: 'b' }, 'abc'],
    [{ max: 5 }, 5],
    [{ min: -1, max: 1 }, 0],
    [{ maxLength: 2 }, '😀😀'],
    [{ maxLength: 0 }, ''],
    [{ required: true }, null],
    [{}, 'anything'],
  ])('%j allows %j', (rule, value) => {
    expect(judge({ field: rule }, { field: value })).toBe(ALLOW)
  })

  it.each<[ArgumentRule, Json, string]>([
    [{ const: 'a' }, 'b', 'has to be "a"'],
    [{ const: 1 }, '1', 'has to be 1'],
    [{ const: false }, 0, 'has to be false'],
    [{ const: { a: 1 } }, { a: 1, b: 2 }, 'has to be {"a":1}'],
    [{ const: [1, 2] }, [1], 'has to be [1,2]'],
    [{ const: {} }, [], 'has to be {}'],
    [{ enum: ['a', 'b'] }, 'c', 'has to be one of "a", "b"'],
    [{ enum: [] }, 'c', 'has to be one of '],
    [{ pattern: '^[a-z]+$' }, 'a1', 'has to be a string that matches the pattern "^[a-z]+$"'],
    [{ pattern: '^a' }, ['a'], 'has to be a string that matches the pattern "^a"'],
    [{ pattern: 'a' }, 'a'.repeat(1001), 'is too long to be checked against the pattern "a"'],
    [{ pattern: '(' }, 'a', 'cannot be checked: the pattern "(" of its rule is invalid (no pattern)'],
    [{ max: 5 }, 5.1, 'has to be a number up to 5'],
    [{ max: 5 }, '4', 'has to be a number up to 5'],
    [{ max: 5 }, null, 'has to be a number up to 5'],
    [{ min: 0 }, -1, 'has to be a number from 0'],
    [{ maxLength: 2 }, '😀😀😀', 'has to be a string of at most 2 characters'],
    [{ maxLength: 2 }, ['a'], 'has to be a string of at most 2 characters'],
    [{ forbidden: true }, null, 'may not be given'],
    [{ forbidden: true }, 0, 'may not be given'],
  ])('%j refuses %j', (rule, value, problem) => {
    expect(judge({ field: rule }, { field: value })).toEqual({
      outcome: 'deny',
      code: 'ARGUMENTS_FORBIDDEN',
      reason: `The argument field ${problem}.`,
      rule: { file: 'tools.yaml', line: 1 },
    })
  })

  it('ignore a missing argument, unless it is required', () => {
    expect(judge({ a: { const: 1, pattern: 'x', max: 1, forbidden: true } }, {})).toBe(ALLOW)
    expect(reasonOf(judge({ a: { required: true } }, {}))).toBe('The argument a is required.')
    expect(reasonOf(judge({ 'a.b': { required: true } }, { a: {} }))).toBe('The argument a.b is required.')
    expect(judge({ 'a.b': { required: true } }, { a: { b: 0 } })).toBe(ALLOW)
  })

  it('apply to nested objects and, with *, to items of lists', () => {
    expect(reasonOf(judge({ 'a.b.c': { max: 1 } }, { a: { b: { c: 2 } } }))).toContain('a.b.c has to be')
    expect(reasonOf(judge({ 'edits.*.n': { max: 1 } }, { edits: [{ n: 1 }, { n: 2 }] }))).toContain(
      'edits.*.n has to be',
    )
    expect(reasonOf(judge({ 'edits.1': { max: 1 } }, { edits: [1, 2] }))).toContain('edits.1 has to be')
    expect(reasonOf(judge({ 'edits.*.n': { required: true } }, { edits: [{ n: 1 }, {}] }))).toContain('is required')
    expect(judge({ 'edits.*.n': { required: true, max: 5 } }, { edits: [{ n: 1 }, { n: 2 }] })).toBe(ALLOW)
  })

  it('all apply, in any order', () => {
    expect(reasonOf(judge({ a: { min: 0, max: 5 } }, { a: 9 }))).toContain('up to 5')
    expect(reasonOf(judge({ a: { min: 0, max: 5 } }, { a: -9 }))).toContain('from 0')
    expect(reasonOf(judge({ a: { pattern: 'x', maxLength: 1 } }, { a: 'xx' }))).toContain('at most 1')
    expect(reasonOf(judge({ a: { pattern: 'x', maxLength: 1 } }, { a: 'y' }))).toContain('the pattern')
  })

  it('require exactly the named argument, at any depth', () => {
    expect(judge({ 'a.*': { required: true } }, { a: [1, null] })).toBe(ALLOW)
    expect(judge({ 'a.*': { required: true } }, { a: [undefined] } as unknown as JsonObject).outcome).toBe('deny')
    expect(judge({ 'a.b': { required: true } }, { 'a.b': 1 })).toBe(ALLOW)
    expect(judge({ 'a.b': { required: true } }, { ab: 1 }).outcome).toBe('deny')
    for (const a of [5, null, 'text', true]) expect(judge({ 'a.b': { required: true } }, { a }).outcome).toBe('deny')
    expect(judge({ 'a.length': { required: true } }, { a: 'text' }).outcome).toBe('deny')
  })

  it('treat an undefined member as missing', () => {
    expect(judge({ a: { max: 1, forbidden: true } }, { a: undefined } as unknown as JsonObject)).toBe(ALLOW)
  })

  it('apply to a key that some servers treat as the same', () => {
    expect(judge({ amount: { max: 5 } }, { amount: 1, Amount: 9 }).outcome).toBe('deny')
    expect(judge({ amount: { forbidden: true } }, { AMOUNT: 1 }).outcome).toBe('deny')
    expect(judge({ 'a.b': { max: 5 } }, { 'a.b': 9 }).outcome).toBe('deny')
    expect(judge({ amount: { required: true } }, { Amount: 1 }).outcome).toBe('deny')
  })

  it('check own members only', () => {
    expect(judge({ 'constructor.name': { required: true } }, {}).outcome).toBe('deny')
    expect(judge({ toString: { forbidden: true } }, {})).toBe(ALLOW)
    const args = JSON.parse('{"__proto__":{"admin":true}}') as JsonObject
    expect(judge({ '__proto__.admin': { forbidden: true } }, args).outcome).toBe('deny')
    expect(judge({ admin: { forbidden: true } }, args)).toBe(ALLOW)
    const rules = JSON.parse('{"__proto__":{"forbidden":true}}') as Readonly<Record<string, ArgumentRule>>
    expect(judge(rules, args).outcome).toBe('deny')
  })
})

describe('deny patterns', () => {
  const RM = 'rm\\s+-rf'

  it.each<[string, JsonObject]>([
    ['a string', { command: 'sudo rm  -rf /' }],
    ['a string with escapes', JSON.parse('{"command":"\\u0072m -rf /"}') as JsonObject],
    ['a string with a line break', { command: 'rm\n-rf /' }],
    ['a nested string', { a: [{ b: ['x', 'rm -rf /'] }] }],
    ['a list that is a command line', { argv: ['rm', '-rf', '/'] }],
    ['a list with other items between', { argv: ['rm', {}, '-rf'] }],
    ['a key', { 'rm -rf': 1 }],
  ])('find %s', (_, args) => {
    expect(deny(args, 'zzz', RM)).toEqual({
      outcome: 'deny',
      code: 'ARGUMENTS_FORBIDDEN',
      reason: 'The arguments match "rm\\\\s+-rf" of deny_patterns.',
      rule: { file: 'tools.yaml', line: 99 },
    })
  })

  it('match each whole string, unescaped quotes, and the JSON text', () => {
    expect(deny({ a: 'drop' }, '^drop$').outcome).toBe('deny')
    expect(deny({ a: '"x"' }, '^"x"$').outcome).toBe('deny')
    expect(deny({ admin: true }, '"admin":true').outcome).toBe('deny')
  })

  it('allow everything else', () => {
    expect(deny({ command: 'ls', n: 5, x: [null, true] }, RM)).toBe(ALLOW)
  })

  it('refuse what they cannot check', () => {
    expect(reasonOf(deny({}, '('))).toBe('The arguments cannot be checked: deny_patterns has "(": no pattern.')
    expect(reasonOf(deny({ a: 'x'.repeat(1000) }, RM))).toContain('are too long to be checked against')
    let deep: Json = 'x'
    for (let depth = 0; depth < 5000; depth++) deep = [deep]
    expect(reasonOf(deny({ deep }, RM))).toContain('are nested over 128 levels deep')
  })
})
