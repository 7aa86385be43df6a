import { isJsonObject, type Json, type JsonObject } from './json/json.ts'
import { findPaths } from './path-arguments.ts'
import { memberNames, type SchemaView, viewItems, viewMember, viewSchema } from './schema-view.ts'

const PATH = '/x'
const DEEPEST = 5
/** A schema is its server's word, and may lead back into itself. */
const MOST_MEMBERS = 1_000

/** Whether any argument of a tool with this input schema would be taken for a path, were it one; so it is where the schema leaves that open. */
export function takesPath(inputSchema: Json | undefined): boolean {
  if (memberNames(inputSchema) === undefined) return true
  const sampler = new Sampler(inputSchema)
  const sample = sampler.sample(viewSchema(inputSchema, inputSchema), 0)
  return sampler.isCut || !isJsonObject(sample) || findPaths(sample, inputSchema).length > 0
}

/** Makes arguments in which every text is a path. */
class Sampler {
  readonly #root: Json | undefined
  #members = 0

  constructor(root: Json | undefined) {
    this.#root = root
  }

  get isCut(): boolean {
    return this.#members > MOST_MEMBERS
  }

  sample(view: SchemaView, depth: number): Json {
    if (depth > DEEPEST || this.isCut) return PATH
    const names = view.flatMap(({ properties }) => (isJsonObject(properties) ? Object.keys(properties) : []))
    if (names.length > 0) return this.#object(names, view, depth)
    const items = viewItems(view, this.#root)
    return items.length > 0 ? [this.sample(items, depth + 1)] : PATH
  }

  #object(names: readonly string[], view: SchemaView, depth: number): JsonObject {
    this.#members += names.length
    if (this.isCut) return {}
    return Object.fromEntries(names.map((name) => [name, this.sample(viewMember(view, name, this.#root), depth + 1)]))
  }
}
