import { compileSimpleSchema, type Json, type JsonObject } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileSchema } from './ajv-schema.ts'

const NAMES = ['a', 'b', 'c'] as const
const scalar = fc.oneof(
  fc.constantFrom<Json>(null, true, false, '', 'a', 'ab', '😀', 0, -0, 1, 1.5, 0.3, -7, 1e300),
  fc.string({ maxLength: 3 }),
  fc.integer({ min: -5, max: 5 }),
)
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 3 }),
  ),
}))

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'] as const
const count = fc.integer({ min: 0, max: 3 })
const limit = fc.constantFrom(-1, 0, 1, 1.5, 3)

const { schema } = fc.letrec<{ schema: Json; schemas: Json[] }>((tie) => ({
  schemas: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.boolean(),
    fc.record<Record<string, Json>>(
      {
        type: fc.oneof(
          fc.constantFrom(...TYPES),
          fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }),
        ),
        minimum: limit,
        exclusiveMaximum: limit,
        multipleOf: fc.constantFrom(0.1, 0.5, 2),
        minLength: count,
        maxLength: count,
      },
      { requiredKeys: [] },
    ),
    fc.record<Record<string, Json>>(
      {
        type: fc.constantFrom('object', 'array'),
        properties: fc.dictionary(fc.constantFrom(...NAMES), tie('schema'), { maxKeys: 3 }),
        required: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }),
        additionalProperties: tie('schema'),
        maxProperties: count,
        items: tie('schema'),
        minItems: count,
        propertyNames: tie('schema'),
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    fc.record<Record<string, Json>>({ anyOf: tie('schemas') }),
    fc.record<Record<string, Json>>({ oneOf: tie('schemas') }),
    fc.record<Record<string, Json>>({ allOf: tie('schemas') }),
    fc.record<Record<string, Json>>({
      $ref: fc.constantFrom('#/$defs/one', '#/$defs/two'),
      type: fc.constantFrom(...TYPES),
    }),
    fc.record<Record<string, Json>>(
      {
        const: value,
        enum: fc.uniqueArray(value, { minLength: 1, maxLength: 4, selector: (option) => JSON.stringify(option) }),
      },
      { requiredKeys: [] },
    ),
  ),
}))

const object = schema.filter((candidate): candidate is JsonObject => typeof candidate === 'object')
const whole = fc.record({ main: object, one: scalar.map((option) => ({ const: option })), two: object })

describe('our validator and AJV', () => {
  it('accept the same values, and explain every refusal', () => {
    const judged = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(whole, fc.array(value, { minLength: 5, maxLength: 10 }), ({ main, one, two }, values) => {
        const root = read({ ...main, $defs: { one, two } })
        const plain = compileSimpleSchema(root)
        if (plain === undefined) return expect.fail(`it is not plain: ${JSON.stringify(root)}`)
        const full = fullCheck(root)
        for (const candidate of values.map(read)) {
          const accepted = plain.accepts(candidate)
          if (full === undefined || accepted === undefined) continue
          const refusal = outcome(() => full(candidate))
          if (refusal === 'endless') continue
          judged[accepted ? 'accepted' : 'refused']++
          expect(accepted, JSON.stringify({ root, candidate })).toBe(refusal === undefined)
          expect(plain.violations(candidate).length > 0).toBe(!accepted)
        }
      }),
      { numRuns: 150 },
    )
    expect(Math.min(judged.accepted, judged.refused)).toBeGreaterThan(100)
  })
})

/** A copy with normal prototypes: generated objects have none. */
const read = <Value>(made: Value): Value => JSON.parse(JSON.stringify(made))

/** Removes duplicates: an enum may contain 0 twice, which AJV treats as an error of the schema. */
function fullCheck(root: JsonObject): ReturnType<typeof compileSchema> | undefined {
  try {
    return compileSchema(root)
  } catch {
    return undefined
  }
}

/** Whether a reference leads to itself. */
function outcome<Result>(run: () => Result): Result | 'endless' {
  try {
    return run()
  } catch (error) {
    if (error instanceof RangeError) return 'endless'
    throw error
  }
}
