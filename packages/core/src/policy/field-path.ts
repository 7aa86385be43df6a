import type { Json } from '../json/json.ts'

/**
 * A dotted name; `*` means every item: `edits.*.path`. Not the grammar of `readJsonPath`, which finds one value: a rule
 * matches many, ignores case, and takes brackets and quotes as parts of a name.
 */
export type FieldPath = readonly string[]

export const readFieldPath = (name: string): FieldPath => name.split('.')

/**
 * What remains of a field path after one key; `undefined` if the key does not match. Case is ignored, because some
 * servers ignore it (Go's JSON does). A key may contain dots itself.
 */
export function stepInto(field: FieldPath, key: string): FieldPath | undefined {
  const [first, ...rest] = field
  if (first === undefined) return undefined
  if (first === '*' || sameKey(first, key)) return rest
  return rest.length > 0 && key.includes('.') && sameKey(field.join('.'), key) ? [] : undefined
}

const sameKey = (one: string, other: string): boolean => one === other || folded(one) === folded(other)

const folded = (key: string): string => key.normalize('NFKC').toLowerCase()

/** Members or items with their keys. Only own ones: `__proto__` and `constructor` are ordinary keys. */
export const entriesOf = (value: Json | undefined): readonly (readonly [key: string, value: Json | undefined])[] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : []
