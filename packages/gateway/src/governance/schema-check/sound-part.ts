import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'

/** Whether a keyword of a schema, at this way into it, can be used. */
export type IsUsable = (keyword: string, value: Json, way: readonly string[]) => boolean

const SUBSCHEMA_KEYWORDS = [
  'additionalProperties',
  'items',
  'additionalItems',
  'propertyNames',
  'then',
  'else',
  'contentSchema',
]
const SUBSCHEMA_LIST_KEYWORDS = ['allOf', 'anyOf', 'prefixItems']
const SUBSCHEMA_MAP_KEYWORDS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
/** With less in them they could refuse more. */
const INVERTING_KEYWORDS = ['not', 'oneOf', 'if', 'contains', 'dependencies']
/** These look at what was said beside them. */
const SIBLING_KEYWORDS = [
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalProperties',
  'additionalItems',
  'items',
]
const DEFINITION_KEYWORDS = ['$defs', 'definitions']

/**
 * What is left of a schema without the parts that cannot be used. It refuses nothing that the whole would accept,
 * whatever those parts mean: one part that nobody understands is no reason not to check the others.
 */
export function dropUnusableParts(schema: JsonObject, isUsable: IsUsable): JsonObject {
  const first = new SchemaWeakener(isUsable)
  const weaker = first.weaken(schema, [])
  if (!first.isShared) return weaker
  // What is referred to may be referred to from anywhere, also from where less is more.
  return new SchemaWeakener(
    (keyword, value, way) => !INVERTING_KEYWORDS.includes(keyword) && isUsable(keyword, value, way),
  ).weaken(schema, [])
}

class SchemaWeakener {
  readonly #isUsable: IsUsable
  #changes = 0
  isShared = false

  constructor(isUsable: IsUsable) {
    this.#isUsable = isUsable
  }

  weaken(schema: JsonObject, way: readonly string[]): JsonObject {
    const before = this.#changes
    const kept: Record<string, Json> = {}
    const lost = new Set<string>()
    for (const [keyword, value] of Object.entries(schema)) {
      const part = this.#weakenKeyword(keyword, value as Json, [...way, keyword])
      if (part === undefined) lost.add(keyword)
      else kept[keyword] = part
    }
    if (this.#changes > before || lost.size > 0) this.#loosen(kept, lost)
    return kept
  }

  #loosen(kept: Record<string, Json>, lost: ReadonlySet<string>): void {
    const names = ['properties', 'patternProperties', 'prefixItems', 'items']
    for (const keyword of SIBLING_KEYWORDS)
      if (keyword.startsWith('unevaluated') || names.some((name) => lost.has(name))) delete kept[keyword]
    if (!lost.has('if')) return
    delete kept.then
    delete kept.else
  }

  #weakenKeyword(keyword: string, value: Json, way: readonly string[]): Json | undefined {
    if (!this.#isUsable(keyword, value, way)) return this.#drop(way)
    const before = this.#changes
    const part = this.#weakenValue(keyword, value, way)
    return INVERTING_KEYWORDS.includes(keyword) && this.#changes > before ? undefined : part
  }

  #weakenValue(keyword: string, value: Json, way: readonly string[]): Json {
    const inner = (one: Json, at: readonly string[]): Json => (isJsonObject(one) ? this.weaken(one, at) : one)
    if (Array.isArray(value))
      return [...SUBSCHEMA_LIST_KEYWORDS, ...INVERTING_KEYWORDS, 'items'].includes(keyword)
        ? value.map((one, at) => inner(one, [...way, String(at)]))
        : value
    if (!isJsonObject(value)) return value
    if (SUBSCHEMA_MAP_KEYWORDS.includes(keyword) || keyword === 'dependencies')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one as Json, [...way, name])]))
    return [...SUBSCHEMA_KEYWORDS, ...INVERTING_KEYWORDS, 'unevaluatedProperties', 'unevaluatedItems'].includes(keyword)
      ? this.weaken(value, way)
      : value
  }

  #drop(way: readonly string[]): undefined {
    this.#changes++
    if (way.some((step) => DEFINITION_KEYWORDS.includes(step))) this.isShared = true
    return undefined
  }
}
