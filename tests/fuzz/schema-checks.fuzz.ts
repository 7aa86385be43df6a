import { isJsonObject, type Json, type JsonObject, sameJson } from '@sallyport/core'
import fc from 'fast-check'
import { compilePartially } from '../../packages/gateway/src/governance/schema-check/ajv-schema.ts'
import type { FuzzSuite } from './fuzz-suite.ts'

/** Keywords that no dialect can compile here, each for another reason. */
const BAD: readonly JsonObject[] = [
  { $ref: 'https://wiki.test/other.json' },
  { $ref: '#/$defs/none' },
  { $dynamicRef: '#x' },
  { type: 'text' },
  { pattern: '(' },
  { required: [1] },
  { maximum: 'many' },
]

/** As a message would contain it: fast-check creates objects without a prototype, which are not treated as JSON. */
const asRead = <T>(made: T): T => JSON.parse(JSON.stringify(made)) as T

const value = fc
  .oneof(
    { withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, 3, 'a', 'abcd', [], {}),
    fc.record({ a: fc.constantFrom<Json>(0, 3, 'a', 'abcd', {}, { a: 'abcd' }) }, { requiredKeys: [] }),
    fc.record({ a: fc.constantFrom<Json>(3, 'abcd'), b: fc.constantFrom<Json>(0, 'a', [0, 'a']) }),
    fc.array(fc.constantFrom<Json>(0, 'a', { b: 3 }), { maxLength: 3 }),
  )
  .map((made) => asRead(made as Json))

/** Of these keywords a few: a schema that has them all refuses everything, and proves nothing. */
function someOf(keywords: Readonly<Record<string, fc.Arbitrary<unknown>>>, minLength = 0): fc.Arbitrary<JsonObject> {
  const member = fc.oneof(...Object.entries(keywords).map(([name, made]) => made.map((word) => [name, word] as const)))
  return fc.array(member, { minLength, maxLength: 2 }).map((members) => Object.fromEntries(members) as JsonObject)
}

const PLAIN = {
  type: fc.constantFrom('string', 'integer', 'object', 'array'),
  enum: fc.constantFrom<Json>([0, 'a'], ['abcd', {}]),
  maxLength: fc.constantFrom(1, 3),
  maximum: fc.constantFrom(0, 2),
  required: fc.constantFrom<Json>(['a'], ['b']),
}

/** `turns` decides whether it may hold keywords that refuse more where what is in them refuses less. */
function schemas(turns: boolean): fc.Arbitrary<JsonObject> {
  const plain = someOf(PLAIN)
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => {
    const inner = tie('schema')
    const several = fc.array(inner, { minLength: 1, maxLength: 2 })
    const parts: Record<string, fc.Arbitrary<unknown>> = {
      properties: fc.record({ a: inner, b: inner }, { requiredKeys: [] }),
      additionalProperties: fc.oneof(fc.constant(false), inner),
      items: inner,
      allOf: several,
      anyOf: several,
    }
    if (turns) {
      parts.oneOf = several
      for (const keyword of ['not', 'if', 'then', 'else']) parts[keyword] = inner
    }
    const nested = fc.tuple(plain, someOf(parts, 1)).map(([own, more]) => ({ ...own, ...more }) as JsonObject)
    const bad = fc.tuple(plain, fc.constantFrom(...BAD)).map(([own, flaw]) => ({ ...own, ...flaw }) as JsonObject)
    return { schema: fc.oneof({ maxDepth: 3, withCrossShrink: true }, plain, bad, nested) }
  })
  return schema.map(asRead)
}

/** Whether a value is valid: `undefined` if that depends on a keyword that cannot be evaluated. */
type Fit = boolean | undefined

const all = (fits: readonly Fit[]): Fit => (fits.includes(false) ? false : fits.includes(undefined) ? undefined : true)
const any = (fits: readonly Fit[]): Fit => (fits.includes(true) ? true : fits.includes(undefined) ? undefined : false)
const inverse = (fit: Fit): Fit => (fit === undefined ? undefined : !fit)

function one(fits: readonly Fit[]): Fit {
  const sure = fits.filter((fit) => fit === true).length
  if (sure > 1) return false
  return fits.includes(undefined) ? undefined : sure === 1
}

/** By the specification, keyword by keyword, and by nothing of what the gateway uses. */
function fits(schema: JsonObject, json: Json): Fit {
  const fitsAll = (list: Json): readonly Fit[] => (list as readonly JsonObject[]).map((part) => fits(part, json))
  const object = isJsonObject(json) ? json : undefined
  const verdicts = Object.entries(schema).map(([keyword, word]): Fit => {
    if (BAD.some((bad) => keyword in bad && sameJson(bad[keyword] as Json, word as Json))) return undefined
    switch (keyword) {
      case 'type':
        return typeOf(json) === word
      case 'enum':
        return (word as readonly Json[]).some((item) => sameJson(item, json))
      case 'maxLength':
        return typeof json !== 'string' || json.length <= (word as number)
      case 'maximum':
        return typeof json !== 'number' || json <= (word as number)
      case 'required':
        return object === undefined || (word as readonly string[]).every((name) => Object.hasOwn(object, name))
      case 'properties':
        return all(
          Object.entries(word as JsonObject).map(([name, part]) =>
            object && Object.hasOwn(object, name) ? fits(part as JsonObject, object[name] as Json) : true,
          ),
        )
      case 'additionalProperties': {
        const known = Object.keys((schema.properties ?? {}) as JsonObject)
        const others = Object.entries(object ?? {}).filter(([name]) => !known.includes(name))
        return all(others.map(([, item]) => word !== false && fits(word as JsonObject, item as Json)))
      }
      case 'items':
        return Array.isArray(json) ? all(json.map((item) => fits(word as JsonObject, item))) : true
      case 'allOf':
        return all(fitsAll(word as Json))
      case 'anyOf':
        return any(fitsAll(word as Json))
      case 'oneOf':
        return one(fitsAll(word as Json))
      case 'not':
        return inverse(fits(word as JsonObject, json))
      case 'if':
        return chosen(schema, json)
      default:
        return true
    }
  })
  return all(verdicts)
}

function chosen({ if: condition, then, else: otherwise }: JsonObject, json: Json): Fit {
  const isTrue = fits(condition as JsonObject, json)
  const first = then === undefined ? true : fits(then as JsonObject, json)
  const second = otherwise === undefined ? true : fits(otherwise as JsonObject, json)
  if (isTrue === undefined) return first === second ? first : undefined
  return isTrue ? first : second
}

function typeOf(json: Json): string {
  if (json === null) return 'null'
  if (Array.isArray(json)) return 'array'
  return typeof json === 'number' && Number.isInteger(json) ? 'integer' : typeof json
}

const values = fc.array(value, { minLength: 5, maxLength: 15 })

const refuses = (schema: JsonObject): ((json: Json) => boolean) => {
  const { check } = compilePartially(schema)
  return (json) => check !== undefined && check(json) !== undefined
}

export const suite: FuzzSuite = {
  open: () => ({
    properties: {
      'What is left of a schema refuses nothing that the whole might accept': fc.property(
        schemas(true),
        values,
        (schema, jsons) => {
          const refused = refuses(schema)
          return jsons.every((json) => !refused(json) || fits(schema, json) === false)
        },
      ),
      'A part that cannot be compiled gives up no check beside it': fc.property(
        schemas(false),
        values,
        (schema, jsons) => {
          const refused = refuses(schema)
          return jsons.every((json) => fits(schema, json) !== false || refused(json))
        },
      ),
    },
    close: () => {},
  }),
}
