/** One part of a schema. It validates a value, describes itself to editors, and lists its own parts. */
export interface Schema<Value = unknown> {
  read(value: unknown): SchemaResult<Value>
  /** A draft 7 JSON Schema of the value as it is written in the file. */
  jsonSchema(): JsonSchema
  /** For a mapping with known keys: the schema of each key. */
  readonly shape?: Shape
  /** For a mapping in which a misspelt key would reduce protection: unknown keys are errors. */
  readonly strict?: boolean
  /** Keys that isolate or restrict: if one is misspelt, its server or tool is unavailable until it is corrected. */
  readonly restricting?: readonly string[]
  /** Other names that people use for such a key, and the hint for each. */
  readonly otherWords?: Readonly<Record<string, string>>
  /** For a string: variables that are filled in later and do not come from the environment. */
  readonly templateVariables?: readonly string[]
  /** For a mapping with free names and for a list: the schema of each member. */
  readonly member?: Schema
  /** For an optional part: the schema of its value. */
  unwrap?(): Schema
}

export type Shape = Readonly<Record<string, Schema>>

export interface ObjectSchema<Members extends Shape = Shape> extends Schema<ObjectValue<Members>> {
  readonly shape: Members
}

export interface OptionalSchema<Inner extends Schema> extends Schema<ValueOf<Inner> | undefined> {
  unwrap(): Inner
}

/** The type of the values that a schema produces. */
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
  /** The end of "expected …". The caller adds what it got, because it knows what is secret. */
  readonly expected: string
  /** The value has the right type but wrong content. In a union, this shows which alternative was meant. */
  readonly isRightKind?: boolean
  /** The allowed words, for suggestions. */
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
  /** Returns `undefined` if the value has another type. */
  convert(value: unknown): Value | undefined
  /** Returns what was expected if the type is right but the content is wrong. */
  findProblem?(value: Value): string | undefined
}

/** A value without parts. */
export function leaf<Value>({
  expected,
  jsonSchema,
  candidates,
  convert,
  findProblem,
}: LeafRule<Value>): Schema<Value> {
  const read = (given: unknown): SchemaResult<Value> => {
    const value = convert(given)
    if (value === undefined) return refuse({ expected, ...(candidates && { candidates }) })
    const problem = findProblem?.(value)
    return problem === undefined ? accept(value) : refuse({ expected: problem, isRightKind: true })
  }
  return { read, jsonSchema: () => jsonSchema }
}

/** Any value. */
export const anything: Schema = { read: accept, jsonSchema: () => ({}) }

/** An optional key. */
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

/** A mapping with free names. */
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

/** A mapping with known keys. Unknown keys are dropped. */
export function object<const Members extends Shape>(expected: string, shape: Members): ObjectSchema<Members> {
  type Value = ObjectValue<Members>
  const parts = Object.entries<Schema>(shape)
  const required = parts.filter(([, part]) => part.unwrap === undefined).map(([key]) => key)
  return {
    shape,
    read: (given) => {
      if (!isMapping(given)) return refuse({ expected })
      // tools.yaml has thousands of mappings that use few of many keys, so only the keys that are present are checked.
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

/** The same mapping, but unknown keys are errors. */
export const strict = <Some extends Schema>(part: Some): Some => ({ ...part, strict: true })

/** The same mapping, with a list of the keys that isolate or restrict. */
export const restricting = <Some extends Schema>(
  part: Some,
  keys: readonly string[],
  otherWords: Schema['otherWords'] = {},
): Some => ({ ...part, restricting: keys, otherWords })

/** One of two schemas. Its own parts are those of the alternative that has parts. */
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

/** Whether the value has the right type, or is a mapping in which only some keys are wrong. */
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

/** Never returns an inherited property such as `constructor`. */
const ownValue = (mapping: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(mapping, key) ? mapping[key] : undefined

type Entry = readonly [step: PathStep, value: unknown]

const isGiven = ([, value]: Entry): boolean => value !== undefined

interface Member {
  readonly step: PathStep
  readonly part: Schema
  readonly value: unknown
}

/** Reads every member, so that one run shows all errors. */
function readMembers<Value>(
  members: readonly Member[],
  assemble: (entries: readonly Entry[]) => Value,
): SchemaResult<Value> {
  const entries: Entry[] = []
  const issues: SchemaIssue[] = []
  for (const { step, part, value } of members) {
    const reading = part.read(value)
    if (reading.ok) entries.push([step, reading.value])
    // One by one: a file of 4 MB can contain more errors than a function call can have arguments.
    else for (const issue of reading.issues) issues.push({ ...issue, path: [step, ...issue.path] })
  }
  return issues.length === 0 ? accept(assemble(entries)) : { ok: false, issues }
}
