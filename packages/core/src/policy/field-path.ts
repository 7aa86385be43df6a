import type { Json } from '../json/json.ts'

/** A dotted name, `*` standing for every item: `edits.*.path`. */
export type FieldPath = readonly string[]

export const readFieldPath = (name: string): FieldPath => name.split('.')

/**
 * What remains of a field behind one key; undefined where it leads elsewhere. A server may read keys without regard to
 * case (Go's JSON does), and a key may have dots of its own.
 */
export function stepInto(field: FieldPath, key: string): FieldPath | undefined {
  const [first, ...rest] = field
  if (first === undefined) return undefined
  if (first === '*' || sameKey(first, key)) return rest
  return rest.length > 0 && key.includes('.') && sameKey(field.join('.'), key) ? [] : undefined
}

const sameKey = (one: string, other: string): boolean => one === other || folded(one) === folded(other)

const folded = (key: string): string => key.normalize('NFKC').toLowerCase()

/** A member or an item with its key. Only own ones: `__proto__` and `constructor` are names like any other. */
export const entriesOf = (value: Json | undefined): readonly (readonly [key: string, value: Json | undefined])[] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : []
