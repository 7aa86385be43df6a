import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { ALLOW, type Json, type JsonObject, type Verdict } from '@sallyport/core'
import { afterAll, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { PACKAGE_ROOT, SCHEMA_THREAD_FILE } from '../../package-root.ts'
import { type ArgumentCheck, openArgumentCheck } from './schema-check.ts'

const opened: ArgumentCheck[] = []
afterAll(() => Promise.all(opened.map((check) => check.close())))

function open(
  options: { readonly budget?: number; readonly cooldown?: number; readonly now?: () => number } = {},
): ArgumentCheck {
  const check = openArgumentCheck({ threadFile: SCHEMA_THREAD_FILE, budget: 5_000, ...options })
  opened.push(check)
  return check
}

const withPattern = (pattern: string): JsonObject => ({
  type: 'object',
  properties: { x: { type: 'string', pattern } },
})
/** Takes exponential time in every backtracking engine. */
const BOMB = withPattern('^(a+)+$')
const SPARK = { x: `${'a'.repeat(60)}!` }
const LOWER = withPattern('^[a-z]+$')

const denied = (code: string, reason: RegExp): unknown => ({
  outcome: 'deny',
  code,
  reason: expect.stringMatching(reason),
})

describe(`${promise('GOV-17')} the check of arguments`, () => {
  const check = open()

  it('leaves only arguments that are null and not required to the server', async () => {
    const properties = { region: { type: 'string' }, limit: { type: 'integer' } }
    const schema = { type: 'object', properties, required: ['limit'] }
    expect(check.check(schema, { region: null, limit: 1 })).toBe(ALLOW)
    expect(check.check(schema, { region: null, limit: null })).toMatchObject({ code: 'ARGUMENTS_INVALID' })
    expect(check.check(schema, { region: 7, limit: 1 })).toMatchObject({ code: 'ARGUMENTS_INVALID' })
    const patterned = { type: 'object', properties: { region: { type: 'string', pattern: '^[a-z]+$' } } }
    expect(await check.check(patterned, { region: null })).toBe(ALLOW)
    expect(await check.check(patterned, { region: 'EU' })).toMatchObject({ code: 'ARGUMENTS_INVALID' })
  })

  it('answers at once for simple schemas', () => {
    const schema = { type: 'object', properties: { limit: { type: 'integer' } }, additionalProperties: false }
    expect(check.check(schema, { limit: 1 })).toBe(ALLOW)
    expect(check.check(schema, undefined)).toBe(ALLOW)
    expect(check.check(schema, { limit: 'ten', limt: 1 })).toEqual({
      outcome: 'deny',
      code: 'ARGUMENTS_INVALID',
      reason:
        'The arguments do not match the input schema of the tool: limit must be an integer and is "ten"; ' +
        'limt is not known there (did you mean "limit"?).',
    })
    expect(check.check({ ...schema, required: ['limit'] }, undefined)).toMatchObject({ code: 'ARGUMENTS_INVALID' })
  })

  it('answers asynchronously for all other schemas', async () => {
    expect(await check.check(LOWER, { x: 'abc' })).toBe(ALLOW)
    expect(await check.check(LOWER, { x: 'ABC' })).toEqual(
      denied('ARGUMENTS_INVALID', /: x must match the pattern "\^\[a-z\]\+\$"\.$/),
    )
    expect(await check.check({ ...LOWER, required: ['x'] }, undefined)).toEqual(
      denied('ARGUMENTS_INVALID', /: x is missing\.$/),
    )
  })

  it('asks a person if a schema cannot be compiled, with the reason', async () => {
    const remote = { $ref: 'https://example.com/schema.json' }
    const reason = expect.stringMatching(/its input schema cannot be used \(can't resolve reference/)
    expect(await check.check(remote, {})).toEqual({ outcome: 'ask', reason })
    expect(await check.check({ properties: { a: { type: 'text' } } }, { a: 1 })).toMatchObject({ outcome: 'ask' })
    expect(await check.check({ $schema: 'https://example.com/own' }, {})).toMatchObject({ outcome: 'ask' })
    expect(await check.findSchemaProblem(remote)).toMatch(/can't resolve reference/)
    expect(await check.findSchemaProblem(LOWER)).toBeUndefined()
    expect(
      check.findSchemaProblem({ properties: { a: { type: 'string' } } }),
      'a plain one is known at once',
    ).toBeUndefined()
  })

  it.each<[string, JsonObject]>([
    ['a remote reference', { $ref: 'https://example.com/schema.json' }],
    ['a reference to nothing', { $ref: '#/$defs/none' }],
    ['a type that is none', { type: 'text' }],
    ['a keyword that is not understood', { $dynamicRef: '#x' }],
    ['a list with a wrong item', { required: [1] }],
    ['a pattern that is none', { pattern: '(' }],
  ])('checks the rest of a schema beside %s', async (_, bad) => {
    const schema = { type: 'object', properties: { good: { type: 'string', maxLength: 3 }, bad }, required: ['good'] }
    expect(await check.check(schema, { good: 'abc', bad: 1 })).toMatchObject({ outcome: 'ask' })
    expect(await check.check(schema, { good: 'abcd', bad: 1 })).toEqual(denied('ARGUMENTS_INVALID', /good must/))
    expect(await check.check(schema, { bad: 1 })).toEqual(denied('ARGUMENTS_INVALID', /good/))
  })

  it('reads special member names and numbers correctly', async () => {
    const strict = { ...LOWER, additionalProperties: false }
    expect(await check.check(strict, JSON.parse('{"__proto__":{}}'))).toEqual(
      denied('ARGUMENTS_INVALID', /__proto__ is not known/),
    )
    const number = { properties: { n: { type: 'integer', const: 0 } }, not: { required: ['x'] } }
    expect(await check.check(number, { n: -0 })).toBe(ALLOW)
    expect(await check.check(number, { n: 2 ** 53 })).toMatchObject({ outcome: 'deny' })
  })

  it('checks values that are too large for the main thread in the worker', async () => {
    const schema = { properties: { list: { type: 'array', items: { type: 'integer' } } } }
    const list = Array.from({ length: 100_000 }, (_, index) => index)
    expect(await check.check(schema, { list })).toBe(ALLOW)
    expect(await check.check(schema, { list: [...list, 'x'] })).toEqual(
      denied('ARGUMENTS_INVALID', /list\[100000\] must be an integer/),
    )
  })

  it('accepts a schema with ten thousand properties', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `name${index}`)
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    expect(check.check({ properties, additionalProperties: false }, { name9999: 'x' })).toBe(ALLOW)
    expect(check.check({ properties, additionalProperties: false }, { nome1: 'x' })).toEqual(
      denied('ARGUMENTS_INVALID', /did you mean "name1"/),
    )
  })

  it('refuses arguments that are too large to check', async () => {
    expect(await check.check(LOWER, { x: 'a'.repeat(8_000_001) })).toEqual(
      denied('ARGUMENTS_UNCHECKED', /at most 8000000 can be checked/),
    )
  })
})

/** A schema whose size doubles with every definition. */
function doubled(times: number): JsonObject {
  const half = (index: number): JsonObject => ({ $ref: `#/$defs/d${index + 1}` })
  const entries = Array.from({ length: times }, (_, index) => [`d${index}`, { anyOf: [half(index), half(index)] }])
  const $defs = { ...Object.fromEntries(entries), [`d${times}`]: { type: 'string' } }
  return { type: 'object', properties: { x: { $ref: '#/$defs/d0' } }, $defs }
}

function nested(times: number): JsonObject {
  let schema: JsonObject = { pattern: '^(a+)+$' }
  for (let depth = 0; depth < times; depth++) schema = { anyOf: [schema, { allOf: [schema] }] }
  return { type: 'object', properties: { x: schema } }
}

const HOSTILE: readonly [string, JsonObject, JsonObject][] = [
  ['a pattern that backtracks for ever', BOMB, SPARK],
  ['a pattern with a lookahead that backtracks', withPattern('^(?=(a+)+$)a'), SPARK],
  ['definitions that double thirty times', doubled(30), { x: 1 }],
  ['a reference to itself', { $ref: '#' }, {}],
  [
    'items that must all be compared with each other',
    { properties: { x: { uniqueItems: true } } },
    { x: pairs(20_000) },
  ],
]

function pairs(count: number): Json {
  return Array.from({ length: count }, (_, index) => ({ index, same: 'x'.repeat(50) }))
}

function emptyLists(count: number): Json {
  return Array.from({ length: count }, () => [])
}

/** On a busy machine, a short budget may already end during compilation, with the verdict "ask": then a longer one is used. */
async function checkOnceCompiled(schema: JsonObject, args: JsonObject): Promise<Verdict> {
  const verdict = await open({ budget: 300 }).check(schema, args)
  return verdict.outcome === 'ask' ? open({ budget: 15_000 }).check(schema, args) : verdict
}

describe('a hostile schema', () => {
  it.each(HOSTILE)('is terminated: %s', async (_, schema, args) => {
    expect(await checkOnceCompiled(schema, args)).toEqual(
      denied('ARGUMENTS_UNCHECKED', /could not be checked: .*takes too much time or memory/),
    )
    // On a busy machine, the next thread may need longer than that for its first schema.
    const later = open()
    expect(await later.check(LOWER, { x: 'abc' })).toBe(ALLOW)
  })

  it('that takes too long to compile needs approval, one that takes too long to check is refused', async () => {
    const check = open({ budget: 300 })
    expect(await check.check(nested(14), SPARK)).toMatchObject({
      outcome: 'ask',
      reason: expect.stringContaining('300'),
    })
    expect(await checkOnceCompiled(BOMB, SPARK)).toMatchObject({ code: 'ARGUMENTS_UNCHECKED' })
  })

  it('that takes too much memory is terminated together with its thread', async () => {
    const check = open({ budget: 60_000 })
    const schema = { properties: { x: { items: { not: { type: 'array' } } } } }
    const memory = check.check(schema, { x: emptyLists(2_000_000) })
    const other = check.check(LOWER, { x: 'abc' })
    expect(await memory).toEqual(
      denied('ARGUMENTS_UNCHECKED', /its thread was lost \(Worker terminated due to reaching memory limit/),
    )
    expect(await other).toBe(ALLOW)
  })

  it('blocks neither the main thread nor other checks', async () => {
    const check = open({ budget: 2_000 })
    expect(await check.check(LOWER, { x: 'abc' })).toBe(ALLOW)
    const done: string[] = []
    const bomb = Promise.resolve(check.check(BOMB, SPARK)).then((verdict) => note(done, 'bomb', verdict))
    const others = ['abc', 'ABC', 'def'].map((x) =>
      Promise.resolve(check.check(LOWER, { x })).then((verdict) => note(done, x, verdict)),
    )
    expect(check.check({ type: 'object' }, {}), 'a simple schema does not wait').toBe(ALLOW)
    for (let turn = 0; turn < 100; turn++) await setImmediate()
    expect(done, 'the main thread ran a hundred turns in the meantime').toEqual([])
    await Promise.all([bomb, ...others])
    expect(done).toEqual(['bomb deny', 'abc allow', 'ABC deny', 'def allow'])
  })

  it('has a lower priority than schemas that were never slow', async () => {
    const check = open({ budget: 1_000 })
    expect(await check.check(LOWER, { x: 'abc' })).toBe(ALLOW)
    const done: string[] = []
    const run = (name: string, schema: JsonObject, args: JsonObject): Promise<void> =>
      Promise.resolve(check.check(schema, args)).then((verdict) => note(done, name, verdict))
    await Promise.all([
      run('first', BOMB, SPARK),
      run('second', withPattern('^(b|a+)+$'), SPARK),
      run('proven', LOWER, { x: 'abc' }),
    ])
    expect(done).toEqual(['first deny', 'proven allow', 'second deny'])
  })

  it('is not tried again for a while, however often it is checked', async () => {
    let now = 0
    const check = open({ budget: 300, cooldown: 1_000, now: () => now })
    expect(await check.check(BOMB, SPARK)).toEqual(denied('ARGUMENTS_UNCHECKED', /takes too much time or memory/))
    expect(await check.check(BOMB, { x: 'aaa' })).toEqual(
      denied('ARGUMENTS_UNCHECKED', /took too long to check a moment ago/),
    )
    expect(await check.check({ ...BOMB }, { x: 'aaa' }), 'a copy of it is the same').toEqual(
      denied('ARGUMENTS_UNCHECKED', /took too long to check a moment ago/),
    )
    now = 1_000
    expect(await check.check(BOMB, SPARK)).toEqual(denied('ARGUMENTS_UNCHECKED', /takes too much time or memory/))
  })

  it('is tried once, however many calls wait for it', async () => {
    const check = open({ budget: 1_000 })
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => check.check(BOMB, SPARK)))
    const tooLong = denied('ARGUMENTS_UNCHECKED', /took too long to check a moment ago/)
    expect(verdicts).toEqual([
      denied('ARGUMENTS_UNCHECKED', /takes too much time or memory/),
      ...Array(19).fill(tooLong),
    ])
  })

  it('is still used for small arguments after large ones took too long', async () => {
    const check = open({ budget: 1_500 })
    const schema = { properties: { x: { uniqueItems: true } } }
    expect(await check.check(schema, { x: [{ a: 1 }, { a: 2 }] })).toBe(ALLOW)
    expect(await check.check(schema, { x: pairs(60_000) })).toEqual(
      denied('ARGUMENTS_UNCHECKED', /takes too much time or memory/),
    )
    expect(await check.check(schema, { x: pairs(60_000) })).toEqual(denied('ARGUMENTS_UNCHECKED', /a moment ago/))
    expect(await check.check(schema, { x: [{ a: 1 }, { a: 1 }] })).toEqual(
      denied('ARGUMENTS_INVALID', /same item twice/),
    )
  })
})

function note(done: string[], name: string, { outcome }: Verdict): void {
  done.push(`${name} ${outcome}`)
}

describe('the thread of the check', () => {
  it('that cannot be started causes refusals, and is tried again', async () => {
    const check = openArgumentCheck({ threadFile: join(PACKAGE_ROOT, 'dist/no-such-file.js') })
    opened.push(check)
    for (const _ of [1, 2])
      expect(await check.check(LOWER, { x: 'abc' })).toEqual(
        denied('ARGUMENTS_UNCHECKED', /the thread for it failed: Cannot find module/),
      )
  })

  it('does not time out if only the main thread was blocked', async () => {
    const check = open({ budget: 500 })
    expect(await check.check(LOWER, { x: 'abc' })).toBe(ALLOW)
    // From here on, timers run first, and then incoming messages.
    await setImmediate()
    const verdict = check.check(LOWER, { x: 'def' })
    const until = performance.now() + 1_000
    while (performance.now() < until);
    expect(await verdict).toBe(ALLOW)
  })

  it('limits the number of waiting jobs', async () => {
    const check = open()
    const verdicts = await Promise.all(Array.from({ length: 400 }, () => check.check(LOWER, { x: 'abc' })))
    expect(verdicts.filter(({ outcome }) => outcome === 'allow').length).toBeGreaterThanOrEqual(256)
    expect(verdicts.find(({ outcome }) => outcome === 'deny')).toMatchObject({ code: 'OVERLOADED' })
  })

  it('ends when the check is closed, and waiting calls are refused', async () => {
    const check = open()
    const waiting = [BOMB, LOWER].map((schema) => check.check(schema, SPARK))
    await check.close()
    for (const verdict of await Promise.all([...waiting, check.check(LOWER, { x: 'abc' })]))
      expect(verdict).toEqual(denied('ARGUMENTS_UNCHECKED', /the gateway is closing/))
  })

  it.each([
    ['idle', ''],
    ['ended', 'await check.check(bomb, spark)'],
  ])('does not keep the process alive when it is %s', async (_, then) => {
    const program = `
      import { openArgumentCheck } from ${JSON.stringify(join(PACKAGE_ROOT, 'dist/governance/schema-check/schema-check.js'))}
      const check = openArgumentCheck({ threadFile: ${JSON.stringify(SCHEMA_THREAD_FILE)}, budget: 2000 })
      const [lower, bomb, spark] = ${JSON.stringify([LOWER, BOMB, SPARK])}
      ${then}
      console.log((await check.check(lower, { x: 'abc' })).outcome)`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [[output], [code]] = await Promise.all([once(child.stdout, 'data'), once(child, 'exit')])
    expect([String(output), code]).toEqual(['allow\n', 0])
  })
})
