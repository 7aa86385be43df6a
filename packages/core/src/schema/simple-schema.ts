import { isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { APPLICATORS, type Applicator, checkAll } from './schema-applicators.ts'
import { ASSERTIONS, type CompileKeyword } from './schema-assertions.ts'
import { ACCEPT_ALL, abortRun, addViolation, type Check, type ValidationRun } from './validation-run.ts'
import type { Violation } from './violation.ts'

/** A compiled schema. The cost of checking one value is bounded, whatever the schema and the value. */
export interface SchemaValidator {
  /** `undefined` if the bound was reached before the result was known. */
  readonly accepts: (value: Json) => boolean | undefined
  /** The problems of a value that is not accepted. */
  readonly violations: (value: Json) => readonly Violation[]
}

/** About half a millisecond. */
const FUEL = 20_000
const MAX_DEPTH = 64
/** Limits nested references, so that a circular one cannot exhaust the stack. */
const MAX_REFERENCE_DEPTH = 64

/** Keywords of any dialect that are not supported here. Keywords that no dialect defines are ignored. */
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

/** A custom dialect may give keywords another meaning. */
const DIALECT = /^https?:\/\/json-schema\.org\/draft/

/** The supported keywords, and the maximum cost of one check. */
export interface Vocabulary {
  readonly fuel: number
  readonly assertions: ReadonlyMap<string, CompileKeyword>
  readonly applicators: ReadonlyMap<string, Applicator>
  /** Keywords that have a meaning but are not supported. */
  readonly unsupported: ReadonlySet<string>
  /** Resolves a reference. */
  readonly findTarget: (to: string, root: JsonObject) => Json | undefined
}

/** `unsupported` is a keyword that cannot be checked, or whose operand is invalid. */
export type CompileResult = { readonly schema: SchemaValidator } | { readonly unsupported: string }

const SIMPLE_VOCABULARY: Vocabulary = {
  fuel: FUEL,
  assertions: ASSERTIONS,
  applicators: APPLICATORS,
  unsupported: UNSUPPORTED_KEYWORDS,
  findTarget: findDefinition,
}

/** Compiles the part of JSON Schema 2020-12 that most tools use; `undefined` if the schema uses more. */
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
        const run: ValidationRun = { fuel, referenceDepth: 0, collector: undefined }
        const fits = check(value, run)
        return run.fuel < 0 ? undefined : fits
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
  /** The targets of references. `check` is missing while a target is being compiled. */
  readonly targets: Map<string, { check?: Check }>
}

function compileNode(schema: Json | undefined, depth: number, compiler: Compiler): Check | undefined {
  if (schema === true) return ACCEPT_ALL
  if (schema === false) return (_, run) => addViolation(run, { message: 'is not allowed' })
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return undefined
  const checks: Check[] = []
  for (const make of listMakers(schema, depth, compiler)) {
    const check = make()
    if (check === undefined) return undefined
    if (check !== ACCEPT_ALL) checks.push(check)
  }
  return checks.length === 0 ? ACCEPT_ALL : withFuel(checks)
}

type Maker = () => Check | undefined

function listMakers(schema: JsonObject, depth: number, compiler: Compiler): readonly Maker[] {
  const { unsupported, applicators, assertions } = compiler.vocabulary
  const keywords = Object.keys(schema).filter((keyword) => schema[keyword] !== undefined)
  /** Records the keyword, unless a keyword inside it was recorded before. */
  const named = (keyword: string, make: Maker): Maker => {
    return () => {
      const check = make()
      if (check === undefined) compiler.unsupported ??= keyword
      return check
    }
  }
  const unsupportedKeyword = keywords.find(
    (keyword) => unsupported.has(keyword) || (keyword === '$id' && schema !== compiler.root),
  )
  if (unsupportedKeyword !== undefined) return [named(unsupportedKeyword, () => undefined)]
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

/** `type` and `required` first: their violations are the most helpful. */
const compareKeywords = (left: string, right: string): number => rank(left) - rank(right)
const rank = (keyword: string): number => (keyword === 'type' ? 0 : keyword === 'required' ? 1 : 2)

function withFuel(checks: readonly Check[]): Check {
  const all = checkAll(checks)
  return (value, run) => --run.fuel >= 0 && all(value, run)
}

/** Compiles a reference. Targets are compiled once. */
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
  return (value, run) => {
    if (target.check === undefined || run.referenceDepth >= MAX_REFERENCE_DEPTH) return abortRun(run)
    run.referenceDepth++
    const fits = target.check(value, run)
    run.referenceDepth--
    return fits
  }
}
