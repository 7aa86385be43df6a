import { createHash } from 'node:crypto'

/** The tool names that every provider accepts. */
const ACCEPTED_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const MAX_LENGTH = 64
const HASH_LENGTH = 16

/** Maps each tool name to the name shown to the model. Shown names are unique, and each depends on its tool name only. */
export function toProviderNames(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(names.filter((name) => ACCEPTED_NAME.test(name)))
  return new Map(names.map((name) => [name, ACCEPTED_NAME.test(name) ? name : createReplacement(name, taken)]))
}

function createReplacement(name: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]+/g, '_').slice(0, MAX_LENGTH - HASH_LENGTH - 1)
  // If a tool has the same name as another tool's replacement, the replacement gets another hash.
  for (let round = 0; ; round++) {
    const hash = createHash('sha256').update(`${round}:${name}`).digest('hex').slice(0, HASH_LENGTH)
    const candidate = `${plain}_${hash}`
    if (taken.has(candidate)) continue
    taken.add(candidate)
    return candidate
  }
}
