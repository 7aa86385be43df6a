import { unknownColumnError } from './csv-text.ts'
import { compileSearch } from './file-search.ts'
import { refusal } from './source.ts'

/** A condition on one column. */
export interface CsvCondition {
  readonly column: string
  readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains'
  readonly value: string | number
}

const COMPARISONS: Readonly<Record<CsvCondition['operator'], (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  contains: () => false,
}

const MAX_CONDITIONS = 100

/** Whether a record fulfils all conditions. Two numbers are compared as numbers, anything else as text. */
export function compileFilter(
  conditions: readonly CsvCondition[],
  columns: readonly string[],
): (fields: readonly string[]) => boolean {
  if (conditions.length > MAX_CONDITIONS)
    throw refusal(`There are ${conditions.length} conditions; at most ${MAX_CONDITIONS} are taken.`)
  const tests = conditions.map((condition) => compileCondition(condition, columns))
  return (fields) => tests.every((test) => test(fields))
}

function compileCondition(
  { column, operator, value }: CsvCondition,
  columns: readonly string[],
): (fields: readonly string[]) => boolean {
  const at = columns.indexOf(column)
  if (at < 0) throw unknownColumnError(column, columns)
  if (!Object.hasOwn(COMPARISONS, operator))
    throw refusal(`The operator is ${JSON.stringify(operator)}; expected one of ${Object.keys(COMPARISONS).join(' ')}.`)
  const wanted = String(value)
  if (operator === 'contains') {
    const find = compileSearch(wanted)
    return (fields) => find(fields[at] ?? '') >= 0
  }
  return (fields) => COMPARISONS[operator](compareFields(fields[at] ?? '', wanted))
}

function compareFields(left: string, right: string): number {
  const [a, b] = [parseNumber(left), parseNumber(right)]
  if (a !== undefined && b !== undefined) return a - b
  return left === right ? 0 : left < right ? -1 : 1
}

/** No place where digits could belong to one part or to the next: trying both takes the square of their number. */
const NUMBER_PATTERN = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** Whole numbers that a double cannot hold are told apart as texts. */
function parseNumber(text: string): number | undefined {
  if (!NUMBER_PATTERN.test(text)) return undefined
  const value = Number(text)
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : value
}
