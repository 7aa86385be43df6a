/** One part of a schema: it reads a value, describes itself to editors, and tells what stands inside. */
export interface Schema<Value = unknown> {
  read(value: unknown): SchemaResult<Value>
  /** Draft 7, of the value as it is written. */
  jsonSchema(): JsonSchema
  /** Of a mapping with known keys: what stands under each. */
  readonly shape?: Shape
  /** Of a mapping in which a misspelt key would mean less protection: unknown ones are errors. */
  readonly strict?: boolean
  /** Keys that isolate or restrict: whoever misspells one of them gets nothing until it is corrected. */
  readonly restricting?: readonly string[]
  /** Other words by which people ask for such a key, and what to say to each. */
  readonly otherWords?: Readonly<Record<string, string>>
  /** Of a text: variables that are filled in later, and are not those of the environment. */
  readonly templateVariables?: readonly string[]
  /** Of a mapping with names that others choose, and of a list: what each member is. */
  readonly member?: Schema
  /** Of a part that may be left out: what it is when it is there. */
  unwrap?(): Schema
}

export type Shape = Readonly<Record<string, Schema>>

export interface ObjectSchema<Members extends Shape = Shape> extends Schema<ObjectValue<Members>> {
  readonly shape: Members
}

export interface OptionalSchema<Inner extends Schema> extends Schema<ValueOf<Inner> | undefined> {
  unwrap(): Inner
}

/** The type of what a part reads. */
export type ValueOf<Some extends Schema> = Some extends Schema<infer Value> ? Value : never

type OptionalKey<Members extends Shape> = {
  [Key in keyof Members]: Members[Key] extends { unwrap(): Schema } ? Key : never
}[keyof Members]

type ObjectValue<Members extends Shape> = {
  readonly [Key in OptionalKey<Members>]?: Exclude<ValueOf<Members[Key]>, undefined>
} & { readonly [Key in Exclude<keyof Members, OptionalKey<Members>>]: ValueOf<Members[Key]> }

export type SchemaResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] }

export type PathStep = string | number

export interface SchemaIssue {
  readonly path: readonly PathStep[]
  /** The end of "expected …". What was got is for the reader to add: it knows what is secret. */
  readonly expected: string
  /** The right kind of value with the wrong content: so it was this half of a union that was meant. */
  readonly isRightKind?: boolean
  /** What may have been meant, where only some words are allowed. */
  readonly candidates?: readonly string[]
}

export interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly [keyword: string]: unknown
}

const accept = <Value>(value: Value): SchemaResult<Value> => ({ ok: true, value })

const refuse = (issue: Omit<SchemaIssue, 'path'>): SchemaResult<never> => ({
  ok: false,
  issues: [{ path: [], ...issue }],
})

interface LeafRule<Value> {
  readonly expected: string
  readonly jsonSchema: JsonSchema
  readonly candidates?: readonly string[]
  /** Nothing when it is another kind of value. */
  convert(value: unknown): Value | undefined
  /** What was expected, when only the content is wrong. */
  fault?(value: Value): string | undefined
}

/** A value with nothing inside. */
export function leaf<Value>({ expected, jsonSchema, candidates, convert, fault }: LeafRule<Value>): Schema<Value> {
  const read = (given: unknown): SchemaResult<Value> => {
    const value = convert(given)
    if (value === undefined) return refuse({ expected, ...(candidates && { candidates }) })
    const wanted = fault?.(value)
    return wanted === undefined ? accept(value) : refuse({ expected: wanted, isRightKind: true })
  }
  return { read, jsonSchema: () => jsonSchema }
}

/** Whatever stands there. */
export const anything: Schema = { read: accept, jsonSchema: () => ({}) }

/** A key that may be left out. */
export function optional<Inner extends Schema>(inner: Inner): OptionalSchema<Inner> {
  type Value = ValueOf<Inner> | undefined
  return {
    unwrap: () => inner,
    read: (given) => (given === undefined ? accept(undefined) : (inner.read(given) as SchemaResult<Value>)),
    jsonSchema: () => inner.jsonSchema(),
  }
}

export function list<Item extends Schema>(expected: string, member: Item): Schema<readonly ValueOf<Item>[]> {
  type Value = readonly ValueOf<Item>[]
  return {
    member,
    read: (given) => {
      if (!Array.isArray(given)) return refuse({ expected })
      const members = Array.from<unknown, Member>(given, (value, step) => ({ step, part: member, value }))
      return readMembers(members, (entries) => entries.map(([, value]) => value) as unknown as Value)
    },
    jsonSchema: () => ({ type: 'array', items: member.jsonSchema() }),
  }
}

/** A mapping with names that others choose. */
export function record<Item extends Schema>(
  expected: string,
  member: Item,
): Schema<Readonly<Record<string, ValueOf<Item>>>> {
  type Value = Readonly<Record<string, ValueOf<Item>>>
  return {
    member,
    read: (given) => {
      if (!isMapping(given)) return refuse({ expected })
      const members = Object.entries(given).map(([step, value]) => ({ step, part: member, value }))
      return readMembers(members, (entries) => Object.fromEntries(entries) as Value)
    },
    jsonSchema: () => ({ type: 'object', additionalProperties: member.jsonSchema() }),
  }
}

/** A mapping with known keys; others are left out. */
export function object<const Members extends Shape>(expected: string, shape: Members): ObjectSchema<Members> {
  type Value = ObjectValue<Members>
  const parts = Object.entries<Schema>(shape)
  const required = parts.filter(([, part]) => part.unwrap === undefined).map(([key]) => key)
  return {
    shape,
    read: (given) => {
      if (!isMapping(given)) return refuse({ expected })
      // tools.yaml holds thousands of mappings with few of many keys: only those that are there are looked at.
      const written = Object.keys(given).filter((key) => Object.hasOwn(shape, key))
      const missing = required.filter((key) => !Object.hasOwn(given, key))
      const members = [...written, ...missing].map((step) => {
        return { step, part: shape[step] as Schema, value: ownValue(given, step) }
      })
      return readMembers(members, (entries) => Object.fromEntries(entries.filter(isGiven)) as Value)
    },
    jsonSchema: () => ({
      type: 'object',
      properties: Object.fromEntries(parts.map(([key, part]) => [key, part.jsonSchema()])),
      ...(required.length > 0 && { required }),
    }),
  }
}

/** The same mapping, in which a key that is not known is an error. */
export const strict = <Some extends Schema>(part: Some): Some => ({ ...part, strict: true })

/** The same mapping, with the keys that isolate or restrict. */
export const restricting = <Some extends Schema>(
  part: Some,
  keys: readonly string[],
  otherWords: Schema['otherWords'] = {},
): Some => ({ ...part, restricting: keys, otherWords })

/** One part or the other; what stands inside is known when one of them has an inside. */
export function either<First extends Schema, Second extends Schema>(
  expected: string,
  first: First,
  second: Second,
): Schema<ValueOf<First> | ValueOf<Second>> {
  type Value = ValueOf<First> | ValueOf<Second>
  const shape = first.shape ?? second.shape
  const member = first.member ?? second.member
  return {
    ...(shape && { shape }),
    ...(member && { member }),
    read: (given) => {
      const readings = [first, second].map((part) => ({ part, reading: part.read(given) as SchemaResult<Value> }))
      const chosen = readings.find(({ reading }) => reading.ok) ?? readings.find(isClosestMatch)
      return chosen?.reading ?? refuse({ expected })
    },
    jsonSchema: () => ({ anyOf: [first.jsonSchema(), second.jsonSchema()] }),
  }
}

/** The right kind of value, or a mapping with known keys in which only some are wrong. */
function isClosestMatch({
  part,
  reading,
}: {
  readonly part: Schema
  readonly reading: SchemaResult<unknown>
}): boolean {
  if (reading.ok) return true
  const isInside = part.shape !== undefined && reading.issues.every(({ path }) => path.length > 0)
  return isInside || reading.issues.every(({ isRightKind }) => isRightKind)
}

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Never what every object has (`constructor`). */
const ownValue = (mapping: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(mapping, key) ? mapping[key] : undefined

type Entry = readonly [step: PathStep, value: unknown]

const isGiven = ([, value]: Entry): boolean => value !== undefined

interface Member {
  readonly step: PathStep
  readonly part: Schema
  readonly value: unknown
}

/** Every member is read, so that one run shows everything that is wrong. */
function readMembers<Value>(
  members: readonly Member[],
  assemble: (entries: readonly Entry[]) => Value,
): SchemaResult<Value> {
  const entries: Entry[] = []
  const issues: SchemaIssue[] = []
  for (const { step, part, value } of members) {
    const reading = part.read(value)
    if (reading.ok) entries.push([step, reading.value])
    // One by one: a file of 4 MB can hold more mistakes than a call can have arguments.
    else for (const issue of reading.issues) issues.push({ ...issue, path: [step, ...issue.path] })
  }
  return issues.length === 0 ? accept(assemble(entries)) : { ok: false, issues }
}
