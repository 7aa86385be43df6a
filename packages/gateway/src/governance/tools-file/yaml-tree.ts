import { isAlias, isMap, isScalar, isSeq, type ParsedNode, parseDocument, type YAMLMap } from 'yaml'
import { describeYamlProblem, parseYaml } from '../../config/config.ts'

/** A value with its parts, and the parser's node, which shows how it is written. */
export interface YamlValue {
  readonly node: ParsedNode | null
  readonly value: unknown
  /** Only for a mapping. */
  readonly pairs?: ReadonlyMap<string, YamlPair>
  /** Only for a list. */
  readonly items?: readonly YamlValue[]
  /** The number of values inside, with aliases expanded. */
  readonly size: number
}

export interface YamlPair {
  readonly key: string
  /** The offset of the key. */
  readonly at: number
  readonly target: YamlValue
  /** Whether it comes from a merge key (`<<`). */
  readonly inherited: boolean
  /** Whether its value is written as `*name`. */
  readonly aliased: boolean
}

export interface YamlProblem {
  readonly offset: number
  readonly problem: string
}

export type YamlResult =
  | { readonly ok: true; readonly root: YamlValue }
  | { readonly ok: false; readonly problem: YamlProblem }

const NESTED = 'this is nested too deeply.'

/** Reads YAML 1.2 with the merge keys of 1.1. It never throws. */
export function readYaml(text: string): YamlResult {
  const document = parseYaml({ parse: parseDocument, text })
  if (document === undefined) return { ok: false, problem: { offset: 0, problem: NESTED } }
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined)
    return { ok: false, problem: { offset: error.pos[0], problem: describeYamlProblem(error.code) } }
  const builder = new TreeBuilder()
  const root = builder.build(document.contents, 0)
  return builder.problem === undefined ? { ok: true, root } : { ok: false, problem: builder.problem }
}

/** Aliases can expand a small file into a huge tree ("billion laughs"). */
const MAX_ALIASED = 500_000
const MAX_DEPTH = 64
const EMPTY: YamlValue = { node: null, value: null, size: 1 }

class TreeBuilder {
  problem: YamlProblem | undefined
  readonly #anchors = new Map<string, YamlValue>()
  #aliased = 0

  build(node: ParsedNode | null, depth: number): YamlValue {
    if (node === null || this.problem !== undefined) return EMPTY
    if (depth > MAX_DEPTH) return this.#refuse(node.range[0], NESTED)
    if (isAlias(node)) return this.#resolve(node.source, node.range[0])
    const built = this.#buildContent(node, depth)
    // Set after the value was built, so that no alias can refer to itself.
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, built)
    return built
  }

  #buildContent(node: ParsedNode, depth: number): YamlValue {
    if (isScalar(node)) return { node, value: node.value ?? null, size: 1 }
    if (isMap(node)) return this.#buildMap(node as YAMLMap.Parsed, depth)
    if (!isSeq(node)) return this.#refuse(node.range[0], 'this is not YAML.')
    const items = node.items.map((item) => this.build(item as ParsedNode, depth + 1))
    return { node, items, value: items.map(({ value }) => value), size: sizeOf(items) }
  }

  #resolve(name: string, offset: number): YamlValue {
    const target = this.#anchors.get(name)
    if (target === undefined) return this.#refuse(offset, 'there is no anchor ("&name") before this alias ("*name").')
    this.#aliased += target.size
    if (this.#aliased > MAX_ALIASED) return this.#refuse(offset, 'aliases make this file too large.')
    return target
  }

  #buildMap(node: YAMLMap.Parsed, depth: number): YamlValue {
    const pairs = new Map<string, YamlPair>()
    let merged: readonly YamlValue[] | undefined
    for (const { key: keyNode, value } of node.items) {
      const at = keyNode?.range[0] ?? node.range[0]
      const key = isScalar(keyNode) ? toKey(keyNode.value, keyNode.source) : undefined
      if (key === undefined) return this.#refuse(at, 'expected a string as the key.')
      if (pairs.has(key) || (key === '<<' && merged !== undefined)) return this.#refuse(at, 'this key is used twice.')
      if (keyNode?.anchor !== undefined) this.build(keyNode, depth + 1)
      const target = this.build(value as ParsedNode | null, depth + 1)
      if (key === '<<' && isScalar(keyNode) && keyNode.type === 'PLAIN') merged = this.#mergeable(target, at)
      else pairs.set(key, { key, at, target, inherited: false, aliased: isAlias(value) })
    }
    for (const { pairs: given } of merged ?? []) {
      for (const pair of given?.values() ?? [])
        if (!pairs.has(pair.key)) pairs.set(pair.key, { ...pair, inherited: true })
    }
    const members = [...pairs.values()]
    const value = Object.fromEntries(members.map(({ key, target }) => [key, target.value]))
    return { node, pairs, value, size: sizeOf(members.map(({ target }) => target)) }
  }

  #mergeable(target: YamlValue, offset: number): readonly YamlValue[] {
    const sources = target.items ?? [target]
    if (sources.every(({ pairs }) => pairs !== undefined)) return sources
    this.#refuse(offset, 'a merge key ("<<") takes a mapping or a list of mappings, such as *defaults.')
    return []
  }

  #refuse(offset: number, problem: string): YamlValue {
    this.problem ??= { offset, problem }
    return EMPTY
  }
}

const sizeOf = (parts: readonly YamlValue[]): number => parts.reduce((sum, { size }) => sum + size, 1)

function toKey(value: unknown, source: string): string | undefined {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? undefined : source
}
