import { ANYTHING, type Check, giveUp, type Inspection, note } from './inspection.ts'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { APPLICATORS, allCheck } from './plain-applicators.ts'
import { ASSERTIONS } from './plain-keywords.ts'
import type { Violation } from './violation.ts'

/** A schema that can be asked at once: what one value may cost is bounded, whatever the schema and the value. */
export interface PlainSchema {
  /** Nothing where the bound was reached before it was known. */
  readonly accepts: (value: Json) => boolean | undefined
  /** What is wrong with a value that is not accepted. */
  readonly violations: (value: Json) => readonly Violation[]
}

/** About half a millisecond. */
const FUEL = 20_000
const MAX_DEPTH = 64
/** References within references, so that none that leads to itself exhausts the stack. */
const MAX_FOLLOWED = 64

/** Keywords of any dialect that are not understood here. Others of which nothing is known say nothing. */
const FOREIGN: ReadonlySet<string> = new Set([
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

/** Compiles the part of JSON Schema 2020-12 that most tools use, or nothing where a schema uses more. */
export function compilePlain(schema: JsonObject): PlainSchema | undefined {
  if (schema.$schema !== undefined && !DIALECT.test(String(schema.$schema))) return undefined
  const compiler: Compiler = { root: schema, targets: new Map() }
  const check = reference('#', compiler)
  if (check === undefined) return undefined
  return {
    accepts: (value) => {
      const inspection: Inspection = { fuel: FUEL, followed: 0, notes: undefined }
      const fits = check(value, inspection)
      return inspection.fuel < 0 ? undefined : fits
    },
    violations: (value) => {
      const found: Violation[] = []
      check(value, { fuel: FUEL, followed: 0, notes: { path: [], found } })
      return found
    },
  }
}

interface Compiler {
  readonly root: JsonObject
  /** What references lead to. It is absent while it is being made, for then it leads to itself. */
  readonly targets: Map<string, { check?: Check }>
}

function compileNode(schema: Json | undefined, depth: number, compiler: Compiler): Check | undefined {
  if (schema === true) return ANYTHING
  if (schema === false) return (_, inspection) => note(inspection, { says: 'is not allowed' })
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return undefined
  const checks: Check[] = []
  for (const make of makersOf(schema, depth, compiler)) {
    const check = make()
    if (check === undefined) return undefined
    if (check !== ANYTHING) checks.push(check)
  }
  return checks.length === 0 ? ANYTHING : node(checks)
}

type Maker = () => Check | undefined

function makersOf(schema: JsonObject, depth: number, compiler: Compiler): readonly Maker[] {
  const keywords = Object.keys(schema).filter((keyword) => schema[keyword] !== undefined)
  const isForeign = keywords.some((keyword) => FOREIGN.has(keyword) || (keyword === '$id' && schema !== compiler.root))
  if (isForeign) return [() => undefined]
  const parts = new Set(keywords.flatMap((keyword) => APPLICATORS.get(keyword) ?? []))
  return [
    ...keywords.sort(foremost).map((keyword) => () => asserted(keyword, schema[keyword] ?? null)),
    ...[...parts].map((apply) => () => apply(schema, (part) => compileNode(part, depth + 1, compiler))),
    ...(schema.$ref === undefined ? [] : [() => reference(schema.$ref, compiler)]),
  ]
}

function asserted(keyword: string, operand: Json): Check | undefined {
  const make = ASSERTIONS.get(keyword)
  return make === undefined ? ANYTHING : make(operand)
}

/** What is wrong with the type, or not there at all, says most. */
const foremost = (left: string, right: string): number => rank(left) - rank(right)
const rank = (keyword: string): number => (keyword === 'type' ? 0 : keyword === 'required' ? 1 : 2)

function node(checks: readonly Check[]): Check {
  const all = allCheck(checks)
  return (value, inspection) => --inspection.fuel >= 0 && all(value, inspection)
}

/** Only to the root and to what it defines by name. */
function reference(to: Json | undefined, compiler: Compiler): Check | undefined {
  if (typeof to !== 'string') return undefined
  const known = compiler.targets.get(to)
  if (known !== undefined) return following(known)
  const target: { check?: Check } = {}
  compiler.targets.set(to, target)
  const check = compileNode(targetOf(to, compiler.root), 0, compiler)
  if (check === undefined) return undefined
  target.check = check
  return following(target)
}

function targetOf(to: string, root: JsonObject): Json | undefined {
  if (to === '#') return root
  const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(to) ?? []
  const definitions = Object.hasOwn(root, keyword) ? root[keyword] : undefined
  return isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

function following(target: { readonly check?: Check }): Check {
  return (value, inspection) => {
    if (target.check === undefined || inspection.followed >= MAX_FOLLOWED) return giveUp(inspection)
    inspection.followed++
    const fits = target.check(value, inspection)
    inspection.followed--
    return fits
  }
}
