import { formatPointer, isJsonList, isJsonObject, type Json } from '@sallyport/core'
import { refusal } from './with-workspace.ts'

/** A value that a query found, and where. */
export interface JsonMatch {
  readonly pointer: string
  readonly value: Json
}

type PathStep =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'each' }
  | { readonly kind: 'below' }

const MAX_VISITED = 500_000
const MAX_DEPTH = 500
const STEP_PATTERN =
  /\.\.(?=[^.])|\.?\*|\.?\[\*\]|\.?\[(?<index>-?\d{1,15})\]|\.?\[(?<quoted>"(?:[^"\\]|\\.){0,1000}"|'[^'\\]{0,1000}')\]|\.?(?<name>[^.[\]*'"\s]{1,1000})/y

/** `$.items[*].name`, `$..id`, `$['a key'][-1]`: names, indexes, `*` and `..`; no expressions. */
export function parseJsonPath(path: string): readonly PathStep[] {
  const steps: PathStep[] = []
  const wrong = (): Error =>
    refusal(`The path is ${JSON.stringify(path.slice(0, 80))}; expected one such as "$.items[*].name" or "$..id".`)
  if (!path.startsWith('$') || path.length > 2_000) throw wrong()
  for (let at = 1; at < path.length; at = STEP_PATTERN.lastIndex) {
    STEP_PATTERN.lastIndex = at
    const found = STEP_PATTERN.exec(path)
    if (found === null) throw wrong()
    steps.push(parseStep(found))
  }
  return steps
}

function parseStep({ 0: source, groups: { index, quoted, name } = {} }: RegExpExecArray): PathStep {
  if (source === '..') return { kind: 'below' }
  if (index !== undefined) return { kind: 'index', index: Number(index) }
  if (name !== undefined) return { kind: 'name', name }
  if (quoted === undefined) return { kind: 'each' }
  return { kind: 'name', name: quoted.startsWith('"') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1) }
}

interface VisitedValue {
  readonly value: Json
  readonly steps: readonly string[]
}

/** In the order of the document, step by step. */
export function* queryJson(document: Json, path: readonly PathStep[]): Generator<JsonMatch> {
  const budget = { left: MAX_VISITED }
  for (const { value, steps } of follow({ value: document, steps: [] }, path, budget))
    yield { pointer: formatPointer(steps), value }
}

function* follow(visit: VisitedValue, path: readonly PathStep[], budget: { left: number }): Generator<VisitedValue> {
  if (--budget.left < 0) throw refusal(`The path leads to over ${MAX_VISITED} values. Give a narrower one.`)
  const [step, ...rest] = path
  if (step === undefined) yield visit
  else if (step.kind === 'below') yield* followBelow(visit, { path, rest }, budget)
  else for (const next of applyStep(visit, step)) yield* follow(next, rest, budget)
}

function* followBelow(
  visit: VisitedValue,
  { path, rest }: { readonly path: readonly PathStep[]; readonly rest: readonly PathStep[] },
  budget: { left: number },
): Generator<VisitedValue> {
  if (visit.steps.length > MAX_DEPTH) throw refusal(`The document is nested deeper than ${MAX_DEPTH}.`)
  yield* follow(visit, rest, budget)
  for (const child of children(visit)) yield* follow(child, path, budget)
}

function* applyStep(visit: VisitedValue, step: Exclude<PathStep, { kind: 'below' }>): Generator<VisitedValue> {
  const { value, steps } = visit
  if (step.kind === 'each') yield* children(visit)
  else if (step.kind === 'name') {
    const member = isJsonObject(value) && Object.hasOwn(value, step.name) ? value[step.name] : undefined
    if (member !== undefined) yield { value: member, steps: [...steps, step.name] }
  } else if (isJsonList(value)) {
    const index = step.index < 0 ? value.length + step.index : step.index
    const item = value[index]
    if (item !== undefined) yield { value: item, steps: [...steps, String(index)] }
  }
}

function* children({ value, steps }: VisitedValue): Generator<VisitedValue> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) yield { value: member, steps: [...steps, key] }
}
