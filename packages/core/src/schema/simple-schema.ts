import { isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { APPLICATORS, type Applicator, checkAll } from './schema-applicators.ts'
import { ASSERTIONS, type CompileKeyword } from './schema-assertions.ts'
import { ACCEPT_ALL, abortRun, addViolation, type Check, type ValidationRun } from './validation-run.ts'
import type { Violation } from './violation.ts'

/** A schema that can be asked at once: what one value may cost is bounded, whatever the schema and the value. */
export interface SchemaValidator {
  /** Nothing where the bound was reached before it was known. */
  readonly accepts: (value: Json) => boolean | undefined
  /** What is wrong with a value that is not accepted. */
  readonly violations: (value: Json) => readonly Violation[]
}

/** About half a millisecond. */
const FUEL = 20_000
const MAX_DEPTH = 64
/** References within references, so that none that leads to itself exhausts the stack. */
const MAX_REFERENCE_DEPTH = 64

/** Keywords of any dialect that are not understood here. Others of which nothing is known say nothing. */
const UNSUPPORTED_KEYWORDS: ReadonlySet<string> = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
  'additionalItems',
  'contains',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'maxContains',
  'minContains',
  'not',
  'nullable',
  'pattern',
  'patternProperties',
  'prefixItems',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/** A dialect that somebody made up may give these words another meaning. */
const DIALECT = /^https?:\/\/json-schema\.org\/draft/

/** Which keywords are understood, and what one look may cost. */
export interface Vocabulary {
  readonly fuel: number
  readonly assertions: ReadonlyMap<string, CompileKeyword>
  readonly applicators: ReadonlyMap<string, Applicator>
  /** Keywords that mean something and are not understood. */
  readonly unsupported: ReadonlySet<string>
  /** What a reference leads to. */
  readonly findTarget: (to: string, root: JsonObject) => Json | undefined
}

/** `unsupported` is the keyword that cannot be checked, or whose value is not what it takes. */
export type CompileResult = { readonly schema: SchemaValidator } | { readonly unsupported: string }

const SIMPLE_VOCABULARY: Vocabulary = {
  fuel: FUEL,
  assertions: ASSERTIONS,
  applicators: APPLICATORS,
  unsupported: UNSUPPORTED_KEYWORDS,
  findTarget: findDefinition,
}

/** Compiles the part of JSON Schema 2020-12 that most tools use, or nothing where a schema uses more. */
export function compileSimpleSchema(schema: JsonObject): SchemaValidator | undefined {
  const compiled = compileWith(SIMPLE_VOCABULARY, schema)
  return 'schema' in compiled ? compiled.schema : undefined
}

export function compileWith(vocabulary: Vocabulary, schema: JsonObject): CompileResult {
  if (schema.$schema !== undefined && !DIALECT.test(String(schema.$schema))) return { unsupported: '$schema' }
  const compiler: Compiler = { root: schema, vocabulary, targets: new Map(), unsupported: undefined }
  const check = compileReference('#', compiler)
  if (check === undefined) return { unsupported: compiler.unsupported ?? 'the schema itself' }
  const { fuel } = vocabulary
  return {
    schema: {
      accepts: (value) => {
        const inspection: ValidationRun = { fuel, referenceDepth: 0, collector: undefined }
        const fits = check(value, inspection)
        return inspection.fuel < 0 ? undefined : fits
      },
      violations: (value) => {
        const violations: Violation[] = []
        check(value, { fuel, referenceDepth: 0, collector: { path: [], violations } })
        return violations
      },
    },
  }
}

interface Compiler {
  readonly root: JsonObject
  readonly vocabulary: Vocabulary
  /** The innermost keyword that could not be compiled. */
  unsupported: string | undefined
  /** What references lead to. It is absent while it is being made, for then it leads to itself. */
  readonly targets: Map<string, { check?: Check }>
}

function compileNode(schema: Json | undefined, depth: number, compiler: Compiler): Check | undefined {
  if (schema === true) return ACCEPT_ALL
  if (schema === false) return (_, inspection) => addViolation(inspection, { message: 'is not allowed' })
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return undefined
  const checks: Check[] = []
  for (const make of makersOf(schema, depth, compiler)) {
    const check = make()
    if (check === undefined) return undefined
    if (check !== ACCEPT_ALL) checks.push(check)
  }
  return checks.length === 0 ? ACCEPT_ALL : withFuel(checks)
}

type Maker = () => Check | undefined

function makersOf(schema: JsonObject, depth: number, compiler: Compiler): readonly Maker[] {
  const { unsupported, applicators, assertions } = compiler.vocabulary
  const keywords = Object.keys(schema).filter((keyword) => schema[keyword] !== undefined)
  /** Names the keyword where nothing inside it was named before. */
  const named = (keyword: string, make: Maker): Maker => {
    return () => {
      const check = make()
      if (check === undefined) compiler.unsupported ??= keyword
      return check
    }
  }
  const odd = keywords.find((keyword) => unsupported.has(keyword) || (keyword === '$id' && schema !== compiler.root))
  if (odd !== undefined) return [named(odd, () => undefined)]
  const parts = new Map(keywords.flatMap((keyword) => ofKeyword(applicators, keyword)))
  return [
    ...keywords
      .sort(compareKeywords)
      .flatMap((keyword) => ofKeyword(assertions, keyword))
      .map(([make, keyword]) => named(keyword, () => make(schema[keyword] ?? null))),
    ...[...parts].map(([apply, keyword]) =>
      named(keyword, () => apply(schema, (part) => compileNode(part, depth + 1, compiler))),
    ),
    ...(schema.$ref === undefined ? [] : [named('$ref', () => compileReference(schema.$ref, compiler))]),
  ]
}

function ofKeyword<Made>(known: ReadonlyMap<string, Made>, keyword: string): readonly (readonly [Made, string])[] {
  const made = known.get(keyword)
  return made === undefined ? [] : [[made, keyword]]
}

/** What is wrong with the type, or not there at all, says most. */
const compareKeywords = (left: string, right: string): number => rank(left) - rank(right)
const rank = (keyword: string): number => (keyword === 'type' ? 0 : keyword === 'required' ? 1 : 2)

function withFuel(checks: readonly Check[]): Check {
  const all = checkAll(checks)
  return (value, inspection) => --inspection.fuel >= 0 && all(value, inspection)
}

/** Only to the root and to what it defines by name. */
function compileReference(to: Json | undefined, compiler: Compiler): Check | undefined {
  if (typeof to !== 'string') return undefined
  const known = compiler.targets.get(to)
  if (known !== undefined) return followReference(known)
  const target: { check?: Check } = {}
  compiler.targets.set(to, target)
  const check = compileNode(compiler.vocabulary.findTarget(to, compiler.root), 0, compiler)
  if (check === undefined) return undefined
  target.check = check
  return followReference(target)
}

function findDefinition(to: string, root: JsonObject): Json | undefined {
  if (to === '#') return root
  const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(to) ?? []
  const definitions = Object.hasOwn(root, keyword) ? root[keyword] : undefined
  return isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

function followReference(target: { readonly check?: Check }): Check {
  return (value, inspection) => {
    if (target.check === undefined || inspection.referenceDepth >= MAX_REFERENCE_DEPTH) return abortRun(inspection)
    inspection.referenceDepth++
    const fits = target.check(value, inspection)
    inspection.referenceDepth--
    return fits
  }
}
