import { expect, expectTypeOf, test } from 'vitest'
import { type ArgumentsOf, checkArguments, type InputSchema } from './input-schema.ts'

const schema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    limit: { type: 'integer' },
    order: { enum: ['asc', 'desc'] },
    tags: { type: ['array', 'null'] },
    filter: { type: 'object' },
    anything: {},
  },
  required: ['path'],
  additionalProperties: false,
} as const satisfies InputSchema

test('arguments that fit are accepted', () => {
  expect(checkArguments(schema, { path: '' })).toBeUndefined()
  expect(
    checkArguments(schema, { path: 'a', limit: 0, order: 'asc', tags: null, filter: {}, anything: [1] }),
  ).toBeUndefined()
})

test.each([
  [{}, 'The argument "path" is missing.'],
  [{ path: 7 }, 'The argument "path" is 7; expected string.'],
  [{ path: null }, 'The argument "path" is null; expected string.'],
  [{ path: 'a', limit: 1.5 }, 'The argument "limit" is 1.5; expected integer.'],
  [{ path: 'a', order: 'up' }, 'The argument "order" is "up"; expected one of "asc", "desc".'],
  [{ path: 'a', tags: {} }, 'The argument "tags" is an object; expected array or null.'],
  [{ path: 'a', filter: [] }, 'The argument "filter" is an array; expected object.'],
])('%j is refused by naming the field', (given, message) => {
  expect(checkArguments(schema, given)).toBe(message)
})

test('an unknown argument is refused with a suggestion', () => {
  expect(checkArguments(schema, { path: 'a', limt: 3 })).toContain('Did you mean "limit"?')
  expect(checkArguments({ type: 'object' }, { extra: 1 })).toBeUndefined()
})

test('names of Object.prototype are neither present nor known', () => {
  expect(checkArguments({ type: 'object', required: ['toString'] }, {})).toBe('The argument "toString" is missing.')
  expect(checkArguments(schema, JSON.parse('{"path":"a","__proto__":1}'))).toContain('no argument "__proto__"')
})

test('a huge value is shown in part', () => {
  const message = checkArguments(
    { type: 'object', properties: { n: { type: 'number' } } },
    { n: 'x'.repeat(1_000_000) },
  )
  expect(message?.length).toBeLessThan(200)
})

test('a handler sees the types that were checked', () => {
  expectTypeOf<ArgumentsOf<typeof schema>['path']>().toEqualTypeOf<string>()
  expectTypeOf<ArgumentsOf<typeof schema>['limit']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<ArgumentsOf<typeof schema>['order']>().toEqualTypeOf<'asc' | 'desc' | undefined>()
})
