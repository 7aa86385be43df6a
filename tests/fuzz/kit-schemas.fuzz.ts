import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { readSchema } from '../../packages/kit/src/schema/read-schema.ts'
import type { FuzzSuite } from './fuzz-suite.ts'

const NAMES = ['a', 'b', 'ab', 'x-a'] as const
const PATTERNS = ['^a', 'b$', '^x-', '.', '^$', '\\p{L}', '[0-9]+'] as const
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'] as const
const name = fc.constantFrom(...NAMES)
const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', 'a', 'ab', 'x-a', '😀', 0, 1, 2, 1.5, -1, 1e20),
  fc.string({ maxLength: 3 }),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}))
const count = fc.integer({ min: 0, max: 3 })
const limit = fc.constantFrom(-1, 0, 1, 1.5, 3)
const type = fc.oneof(
  fc.constantFrom(...TYPES),
  fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }),
)

/** Every keyword that the kit says it can check, in any company. */
const { schema } = fc.letrec<{ schema: unknown; some: unknown[]; named: object }>((tie) => ({
  some: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
  named: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.boolean(),
    part({ type, minimum: limit, exclusiveMaximum: limit, minLength: count, maxLength: count }),
    part({ maximum: limit, exclusiveMinimum: limit, multipleOf: fc.constantFrom(0.5, 1, 2) }),
    part({ pattern: fc.constantFrom(...PATTERNS), not: tie('schema'), const: value }),
    part({ enum: fc.array(value, { minLength: 1, maxLength: 4 }) }),
    part({
      properties: tie('named'),
      patternProperties: fc.dictionary(fc.constantFrom(...PATTERNS), tie('schema'), { maxKeys: 2 }),
      additionalProperties: tie('schema'),
      propertyNames: tie('schema'),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      minProperties: count,
      maxProperties: count,
    }),
    part({
      items: tie('schema'),
      prefixItems: tie('some'),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
    }),
    // With maxContains always: without it AJV forgets to start anew, and takes what the array before it contained.
    fc.record(
      { contains: tie('schema'), minContains: count, maxContains: count },
      { requiredKeys: ['contains', 'maxContains'] },
    ),
    part({ allOf: tie('some'), anyOf: tie('some'), oneOf: tie('some') }),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    part({ if: tie('schema'), then: tie('schema'), else: tie('schema') }),
    part({
      dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 2 }),
      dependentSchemas: tie('named'),
    }),
    part({ $ref: fc.constantFrom('#/$defs/one', '#two', '#/$defs/three~1four'), type }),
  ),
}))

function part(keywords: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  return fc.record(keywords, { requiredKeys: [] })
}

/** As it would have come over the wire. */
const read = (made: unknown) => JSON.parse(JSON.stringify(made))

const whole = fc
  .tuple(part({ properties: fc.dictionary(name, schema, { maxKeys: 3 }) }), schema, value)
  .map(([main, one, two]) =>
    read({
      ...main,
      allOf: [one],
      $defs: { one: { const: two }, two: { $anchor: 'two', type: 'object' }, 'three/four': { minLength: 1 } },
    }),
  )

export const suite: FuzzSuite = {
  open: () => ({
    properties: {
      'The kit accepts what AJV accepts, and explains what it refuses': fc.property(
        whole,
        fc.array(value, { minLength: 1, maxLength: 4 }),
        (root, values) => {
          const accepts = compileWithAjv(root)
          if (accepts === undefined) return
          const { check } = readSchema(root, 'output', 'the value')
          for (const candidate of values.map(read)) {
            const checked = check(candidate) as { readonly value?: unknown; readonly wrong?: string }
            const isAccepted = !('wrong' in checked)
            if (isAccepted !== accepts(candidate))
              throw new Error(
                `${JSON.stringify(candidate)}: the kit ${isAccepted ? 'accepts' : `refuses: ${checked.wrong}`}`,
              )
            if (!isAccepted && (checked.wrong ?? '').length < 5) throw new Error('It does not say what is wrong.')
          }
        },
      ),
    },
  }),
}

/** Making one takes longer than a case, and one that is used for long is slow and large: it keeps what it compiled. */
const USES = 200
const createAjv = () => new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, logger: false })
let ajv = createAjv()
let uses = 0

/** Undefined for schemas that AJV cannot compile. */
function compileWithAjv(root: object): ((value: unknown) => boolean) | undefined {
  if (++uses % USES === 0) ajv = createAjv()
  try {
    const validate = ajv.compile(root)
    return (value) => validate(value) === true
  } catch {
    return undefined
  } finally {
    ajv.removeSchema(root)
  }
}
