import { isTextDeeper, type Json } from '@sallyport/core'
import { realNumber, wholeNumber } from './sql-result.ts'

type Reader = (text: string) => Json

const asText: Reader = (text) => text
const asWhole: Reader = (text) => wholeNumber(BigInt(text))
const asReal: Reader = (text) => realNumber(Number(text))
const asTruth: Reader = (text) => text === 't'

/** A JSON number that JavaScript would round keeps the whole document a text. */
const LONG_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Patterns and JSON.stringify exhaust the stack on what is longer or deeper; it stays a text as well. */
const LONGEST_JSON = 1_000_000
const DEEPEST_JSON = 100

const asJson: Reader = (text) => {
  if (text.length > LONGEST_JSON || isTextDeeper(text, DEEPEST_JSON)) return text
  for (const [token] of text.matchAll(LONG_NUMBER))
    if (!token.startsWith('"') && token.replaceAll(/[-.]/g, '').length > 15) return text
  return JSON.parse(text) as Json
}

/** By the number of a type and of its arrays. Numerics, dates and intervals are the server's own texts. */
const TYPES: readonly (readonly [name: string, type: number, array: number, read: Reader])[] = [
  ['boolean', 16, 1000, asTruth],
  ['bytea', 17, 1001, asText],
  ['bigint', 20, 1016, asWhole],
  ['smallint', 21, 1005, asWhole],
  ['integer', 23, 1007, asWhole],
  ['text', 25, 1009, asText],
  ['oid', 26, 1028, asWhole],
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
  readonly read: Reader
}

const BY_NUMBER = new Map<number, PostgresType>(
  TYPES.flatMap(([name, type, array, read]) => [
    [type, { name, read }],
    [array, { name: `${name}[]`, read: (text: string) => readArray(text, read) }],
  ]),
)

const OTHER: PostgresType = { name: 'other', read: asText }

export const postgresType = (number: number): PostgresType => BY_NUMBER.get(number) ?? OTHER

const ITEM = /\s*(?:([{}])|,|"([^"\\]*(?:\\[\s\S][^"\\]*)*)"|([^,{}"]+))/gy

/** `{1,NULL,{"a\"b"}}`; one with other bounds than from 1 (`[0:1]={…}`) stays a text, since a list cannot say so. */
function readArray(text: string, read: Reader): Json {
  if (!text.startsWith('{')) return text
  const stack: Json[][] = [[]]
  ITEM.lastIndex = 0
  for (let match = ITEM.exec(text); match !== null; match = ITEM.exec(text)) {
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

/** Everything is sent as text; the server knows which type it wants. */
export function postgresParameter(value: Json): string | null {
  if (value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
