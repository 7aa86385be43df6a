import { isJsonDeeperThan, type Json } from '@sallyport/core'
import { toJsonInteger, toJsonReal } from './sql-result.ts'

type ValueParser = (text: string) => Json

const asText: ValueParser = (text) => text
const asInteger: ValueParser = (text) => toJsonInteger(BigInt(text))
const asReal: ValueParser = (text) => toJsonReal(Number(text))
const asBoolean: ValueParser = (text) => text === 't'

/** If JavaScript would round a JSON number, the whole document stays a string. */
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Regular expressions and JSON.stringify exhaust the stack on longer or deeper values, so these stay strings as well. */
const MAX_JSON_LENGTH = 1_000_000
const MAX_JSON_DEPTH = 100

const asJson: ValueParser = (text) => {
  if (text.length > MAX_JSON_LENGTH || isJsonDeeperThan(text, MAX_JSON_DEPTH)) return text
  for (const [token] of text.matchAll(JSON_TOKEN))
    if (!token.startsWith('"') && token.replaceAll(/[-.]/g, '').length > 15) return text
  return JSON.parse(text) as Json
}

/** By the OID of a type and of its array type. Numerics, dates and intervals are strings as the server formats them. */
const TYPES: readonly (readonly [name: string, type: number, array: number, read: ValueParser])[] = [
  ['boolean', 16, 1000, asBoolean],
  ['bytea', 17, 1001, asText],
  ['bigint', 20, 1016, asInteger],
  ['smallint', 21, 1005, asInteger],
  ['integer', 23, 1007, asInteger],
  ['text', 25, 1009, asText],
  ['oid', 26, 1028, asInteger],
  ['json', 114, 199, asJson],
  ['real', 700, 1021, asReal],
  ['double precision', 701, 1022, asReal],
  ['character', 1042, 1014, asText],
  ['character varying', 1043, 1015, asText],
  ['date', 1082, 1182, asText],
  ['time', 1083, 1183, asText],
  ['timestamp', 1114, 1115, asText],
  ['timestamp with time zone', 1184, 1185, asText],
  ['interval', 1186, 1187, asText],
  ['numeric', 1700, 1231, asText],
  ['uuid', 2950, 2951, asText],
  ['jsonb', 3802, 3807, asJson],
]

interface PostgresType {
  readonly name: string
  readonly read: ValueParser
}

const BY_OID = new Map<number, PostgresType>(
  TYPES.flatMap(([name, type, array, read]) => [
    [type, { name, read }],
    [array, { name: `${name}[]`, read: (text: string) => parseArray(text, read) }],
  ]),
)

const OTHER_TYPE: PostgresType = { name: 'other', read: asText }

export const findPostgresType = (number: number): PostgresType => BY_OID.get(number) ?? OTHER_TYPE

const ARRAY_TOKEN = /\s*(?:([{}])|,|"([^"\\]*(?:\\[\s\S][^"\\]*)*)"|([^,{}"]+))/gy

/** `{1,NULL,{"a\"b"}}`; an array whose lower bound is not 1 (`[0:1]={…}`) stays a string, since a list has no bounds. */
function parseArray(text: string, read: ValueParser): Json {
  if (!text.startsWith('{')) return text
  const stack: Json[][] = [[]]
  ARRAY_TOKEN.lastIndex = 0
  for (let match = ARRAY_TOKEN.exec(text); match !== null; match = ARRAY_TOKEN.exec(text)) {
    const [, brace, quoted, plain] = match
    if (brace === '{') stack.push([])
    else if (brace === '}') {
      const inner = stack.pop() ?? []
      stack.at(-1)?.push(inner)
    } else if (quoted !== undefined) stack.at(-1)?.push(read(quoted.replaceAll(/\\(.)/gs, '$1')))
    else if (plain !== undefined) stack.at(-1)?.push(plain === 'NULL' ? null : read(plain))
  }
  return stack[0]?.[0] ?? text
}

/** Everything is sent as text; the server knows the expected type. */
export function toPostgresParameter(value: Json): string | null {
  if (value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
