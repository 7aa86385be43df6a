import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'

/** A schema that providers accept for the arguments of a tool. */
export interface ProviderSchema {
  readonly type: 'object'
  readonly properties: JsonObject
  readonly required?: string[]
  readonly [keyword: string]: unknown
}

/** Keywords that providers reject at the top level, or that mean nothing to a model. */
const DROPPED_KEYWORDS = new Set([
  '$schema',
  '$id',
  '$ref',
  '$anchor',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'enum',
  'const',
])
const MAX_BRANCHES = 64

/**
 * Providers require an object at the top level, without alternatives. The branches are merged, so a model sees every
 * argument. The server still checks, with its own schema, which of them may be combined.
 */
export function toProviderSchema(schema: unknown): ProviderSchema {
  if (!isJsonObject(schema)) return { type: 'object', properties: {} }
  const merged = mergeBranches(schema, { root: schema, mergedBranches: new Map() }, 0)
  const keptEntries = Object.entries(schema).filter(([keyword]) => !DROPPED_KEYWORDS.has(keyword))
  const required = merged.required.filter((name) => Object.hasOwn(merged.properties, name))
  const { required: _, ...rest } = Object.fromEntries(keptEntries)
  return {
    ...rest,
    type: 'object',
    properties: merged.properties,
    ...(required.length > 0 && { required }),
  }
}

interface Branch {
  readonly properties: JsonObject
  readonly required: readonly string[]
}

const MAX_DEPTH = 8

interface MergeContext {
  readonly root: JsonObject
  /** What was merged already: otherwise cyclic references, or references that double at every step, would never end. */
  readonly mergedBranches: Map<JsonObject, Branch>
}

function mergeBranches(schema: JsonObject, walk: MergeContext, depth: number): Branch {
  const known = walk.mergedBranches.get(schema)
  if (known !== undefined) return known
  const own: Branch = {
    properties: isJsonObject(schema.properties) ? schema.properties : {},
    required: toStrings(schema.required),
  }
  if (depth >= MAX_DEPTH) return own
  walk.mergedBranches.set(schema, own)
  const inside = (part: Json): Branch => (isJsonObject(part) ? mergeBranches(part, walk, depth + 1) : EMPTY_BRANCH)
  const target = typeof schema.$ref === 'string' ? resolveRef(walk.root, schema.$ref) : undefined
  const all = [own, ...(target === undefined ? [] : [inside(target)]), ...toArray(schema.allOf).map(inside)]
  const anyOf = [schema.anyOf, schema.oneOf].map(toArray).filter((branches) => branches.length > 0)
  for (const branches of anyOf) all.push(mergeAlternatives(branches.map(inside)))
  const merged = {
    properties: Object.assign({}, ...all.map(({ properties }) => properties).reverse()),
    required: [...new Set(all.flatMap(({ required }) => required))],
  }
  walk.mergedBranches.set(schema, merged)
  return merged
}

const EMPTY_BRANCH: Branch = { properties: {}, required: [] }

/** A member is required only if every alternative requires it. */
function mergeAlternatives(branches: readonly Branch[]): Branch {
  const [first = EMPTY_BRANCH] = branches
  return {
    properties: Object.assign({}, ...branches.map(({ properties }) => properties)),
    required: first.required.filter((name) => branches.every(({ required }) => required.includes(name))),
  }
}

/** Resolves `#/$defs/x` step by step; other forms are not resolved. */
function resolveRef(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined
  let at: Json | undefined = root
  for (const step of reference.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return isJsonObject(at) ? at : undefined
}

const toArray = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value.slice(0, MAX_BRANCHES) : [])
const toStrings = (value: Json | undefined): readonly string[] =>
  toArray(value).filter((item): item is string => typeof item === 'string')
