import { isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import {
  expandItems,
  expandMember,
  expandSchema,
  listMemberNames,
  type SchemaBranches,
} from '../schema/schema-branches.ts'
import { findPaths } from './path-arguments.ts'

const PATH = '/x'
const MAX_DEPTH = 5
/** A schema comes from the server, and may refer to itself. */
const MAX_MEMBERS = 1_000

/** Whether a tool with this input schema may have an argument that is treated as a path. True if the schema is open. */
export function takesPath(inputSchema: Json | undefined): boolean {
  if (listMemberNames(inputSchema) === undefined) return true
  const sampler = new Sampler(inputSchema)
  const sample = sampler.sample(expandSchema(inputSchema, inputSchema), 0)
  return sampler.isCut || !isJsonObject(sample) || findPaths(sample, inputSchema).length > 0
}

/** Builds sample arguments in which every string is a path. */
class Sampler {
  readonly #root: Json | undefined
  #members = 0

  constructor(root: Json | undefined) {
    this.#root = root
  }

  get isCut(): boolean {
    return this.#members > MAX_MEMBERS
  }

  sample(view: SchemaBranches, depth: number): Json {
    if (depth > MAX_DEPTH || this.isCut) return PATH
    const names = view.flatMap(({ properties }) => (isJsonObject(properties) ? Object.keys(properties) : []))
    if (names.length > 0) return this.#object(names, view, depth)
    const items = expandItems(view, this.#root)
    return items.length > 0 ? [this.sample(items, depth + 1)] : PATH
  }

  #object(names: readonly string[], view: SchemaBranches, depth: number): JsonObject {
    this.#members += names.length
    if (this.isCut) return {}
    return Object.fromEntries(names.map((name) => [name, this.sample(expandMember(view, name, this.#root), depth + 1)]))
  }
}
