import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { anything, either, list, object, optional, record, type Schema, type ValueOf } from './schema.ts'
import { coercedString, flag, integer, nonEmptyString, oneOf } from './value-schemas.ts'

const server = object('a server', {
  name: nonEmptyString('a name'),
  kind: optional(oneOf(['stdio', 'http'])),
  args: optional(list('a list of strings', coercedString)),
  env: optional(record('a mapping of texts', coercedString)),
  command: optional(either('a program', nonEmptyString(), list('a list', nonEmptyString()))),
  notes: optional(anything),
})

const issuesOf = (part: Schema, value: unknown) => {
  const reading = part.read(value)
  return reading.ok ? [] : reading.issues
}

const textsOf = (part: Schema, value: unknown): readonly string[] =>
  issuesOf(part, value).map(({ path, expected }) => `${path.join('.')}: ${expected}`)

describe('a schema', () => {
  it('determines the type of its result', () => {
    type Server = ValueOf<typeof server>
    expectTypeOf<Server['name']>().toEqualTypeOf<string>()
    expectTypeOf<Server['kind']>().toEqualTypeOf<'stdio' | 'http' | undefined>()
    expectTypeOf<Server['args']>().toEqualTypeOf<readonly string[] | undefined>()
    expectTypeOf<Server['env']>().toEqualTypeOf<Readonly<Record<string, string>> | undefined>()
    expectTypeOf<Server['command']>().toEqualTypeOf<string | readonly string[] | undefined>()
    expectTypeOf<{ readonly name: string }>().toExtend<Server>()
    expectTypeOf<Record<never, never>>().not.toExtend<Server>()
  })

  it('accepts and converts valid values, and drops unknown keys', () => {
    const given = { name: 'a', args: ['x', 8080, true], env: { V: 1 }, command: ['y'], notes: { z: [1] }, other: 1 }
    expect(server.read(given)).toEqual({
      ok: true,
      value: { name: 'a', args: ['x', '8080', 'true'], env: { V: '1' }, command: ['y'], notes: { z: [1] } },
    })
  })

  it('accepts a missing optional key, and reports a missing required one', () => {
    expect(server.read({ name: 'a' })).toStrictEqual({ ok: true, value: { name: 'a' } })
    expect(textsOf(server, { kind: undefined })).toEqual(['name: a name'])
  })

  it('reports every error with its path', () => {
    const given = { name: '', kind: 'stdoi', args: ['x', null, ['y']], env: { A: {}, B: 'b\0' } }
    expect(textsOf(server, given)).toEqual([
      'name: a name, not empty',
      'kind: one of "stdio", "http"',
      'args.1: a string',
      'args.2: a string',
      'env.A: a string',
      'env.B: a string without NUL characters',
    ])
  })

  it('lists the allowed words', () => {
    expect(issuesOf(server, { name: 'a', kind: 'stdoi' })).toMatchObject([{ candidates: ['stdio', 'http'] }])
    expect(issuesOf(flag(), 'tru')[0]).not.toHaveProperty('candidates')
  })

  it.each([undefined, null, 1, 'a', true, []])('does not accept %j as a mapping', (value) => {
    expect(textsOf(server, value)).toEqual([': a server'])
    expect(textsOf(record('a mapping', coercedString), value)).toEqual([': a mapping'])
  })

  it.each([undefined, null, 1, 'a', true, {}, { length: 1 }])('does not accept %j as a list', (value) => {
    expect(textsOf(list('a list', anything), value)).toEqual([': a list'])
  })
})

describe('a choice of two schemas', () => {
  it('reports the errors of the alternative that fits the type of the value', () => {
    expect(textsOf(server, { name: 'a', command: '' })).toEqual(['command: a string, not empty'])
    expect(textsOf(server, { name: 'a', command: ['x', ''] })).toEqual(['command.1: a string, not empty'])
  })

  it('otherwise reports that neither alternative fits', () => {
    expect(textsOf(server, { name: 'a', command: 1 })).toEqual(['command: a program'])
    expect(textsOf(server, { name: 'a', command: ['', 1] })).toEqual(['command: a program'])
  })
})

describe('a hostile value', () => {
  it('cannot change the prototype of the result', () => {
    const given = JSON.parse(
      '{"name": "a", "__proto__": {"kind": "http"}, "env": {"__proto__": "x", "constructor": "y"}}',
    )
    const reading = server.read(given)
    if (!reading.ok) throw new Error('Expected the value to be valid.')
    expect(reading.value.kind).toBeUndefined()
    expect(Object.getPrototypeOf(reading.value)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(reading.value.env)).toBe(Object.prototype)
    expect(Object.entries(reading.value.env ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
  })

  it('is not read if it is inherited', () => {
    const part = object('a mapping', { toString: optional(nonEmptyString()), kind: optional(nonEmptyString()) })
    expect(part.read(Object.create({ kind: 'http' }))).toEqual({ ok: true, value: {} })
  })

  it('may have more errors than a function call can have arguments', () => {
    const many = Array.from({ length: 150_000 }, () => null)
    expect(issuesOf(server, { name: 'a', args: many })).toHaveLength(many.length)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -0.5, '', ' 1', '1e3', '0x10', '１'])(
    'is no whole number: %j',
    (value) => {
      expect(textsOf(integer(0, 65_535), value)).toEqual([': a whole number from 0 to 65535'])
    },
  )

  it('never makes the schema throw', () => {
    const whatever = fc.anything({ withNullPrototype: true, withSparseArray: true, withBigInt: true })
    const keys = { name: whatever, kind: whatever, args: whatever, env: whatever, command: whatever }
    fc.assert(
      fc.property(fc.oneof(whatever, fc.record(keys)), (value) => {
        const reading = server.read(value)
        expect(reading.ok || reading.issues.length > 0).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the JSON Schema of a schema', () => {
  it('describes values as they are written in the file', () => {
    expect(server.jsonSchema()).toEqual({
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 1 },
        kind: { type: 'string', enum: ['stdio', 'http'] },
        args: { type: 'array', items: { type: ['string', 'number', 'boolean'] } },
        env: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
        command: {
          anyOf: [
            { type: 'string', minLength: 1 },
            { type: 'array', items: { type: 'string', minLength: 1 } },
          ],
        },
        notes: {},
      },
    })
  })
})
