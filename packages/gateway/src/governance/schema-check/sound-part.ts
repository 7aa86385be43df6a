import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'

/** Whether a keyword of a schema, at this way into it, can be used. */
export type IsUsable = (keyword: string, value: Json, way: readonly string[]) => boolean

const ONE = ['additionalProperties', 'items', 'additionalItems', 'propertyNames', 'then', 'else', 'contentSchema']
const MANY = ['allOf', 'anyOf', 'prefixItems']
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
/** With less in them they could refuse more. */
const TURNING = ['not', 'oneOf', 'if', 'contains', 'dependencies']
/** These look at what was said beside them. */
const LOOKING = ['unevaluatedProperties', 'unevaluatedItems', 'additionalProperties', 'additionalItems', 'items']
const SHARED = ['$defs', 'definitions']

/**
 * What is left of a schema without the parts that cannot be used. It refuses nothing that the whole would accept,
 * whatever those parts mean: one part that nobody understands is no reason not to check the others.
 */
export function soundPart(schema: JsonObject, isUsable: IsUsable): JsonObject {
  const first = new Weakening(isUsable)
  const weaker = first.weaken(schema, [])
  if (!first.isShared) return weaker
  // What is referred to may be referred to from anywhere, also from where less is more.
  return new Weakening((keyword, value, way) => !TURNING.includes(keyword) && isUsable(keyword, value, way)).weaken(
    schema,
    [],
  )
}

class Weakening {
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
      const part = this.#part(keyword, value as Json, [...way, keyword])
      if (part === undefined) lost.add(keyword)
      else kept[keyword] = part
    }
    if (this.#changes > before || lost.size > 0) this.#loosen(kept, lost)
    return kept
  }

  #loosen(kept: Record<string, Json>, lost: ReadonlySet<string>): void {
    const names = ['properties', 'patternProperties', 'prefixItems', 'items']
    for (const keyword of LOOKING)
      if (keyword.startsWith('unevaluated') || names.some((name) => lost.has(name))) delete kept[keyword]
    if (!lost.has('if')) return
    delete kept.then
    delete kept.else
  }

  #part(keyword: string, value: Json, way: readonly string[]): Json | undefined {
    if (!this.#isUsable(keyword, value, way)) return this.#lose(way)
    const before = this.#changes
    const part = this.#inside(keyword, value, way)
    return TURNING.includes(keyword) && this.#changes > before ? undefined : part
  }

  #inside(keyword: string, value: Json, way: readonly string[]): Json {
    const inner = (one: Json, at: readonly string[]): Json => (isJsonObject(one) ? this.weaken(one, at) : one)
    if (Array.isArray(value))
      return [...MANY, ...TURNING, 'items'].includes(keyword)
        ? value.map((one, at) => inner(one, [...way, String(at)]))
        : value
    if (!isJsonObject(value)) return value
    if (NAMED.includes(keyword) || keyword === 'dependencies')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one as Json, [...way, name])]))
    return [...ONE, ...TURNING, 'unevaluatedProperties', 'unevaluatedItems'].includes(keyword)
      ? this.weaken(value, way)
      : value
  }

  #lose(way: readonly string[]): undefined {
    this.#changes++
    if (way.some((step) => SHARED.includes(step))) this.isShared = true
    return undefined
  }
}
