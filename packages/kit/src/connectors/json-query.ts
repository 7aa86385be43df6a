import { isJsonList, isJsonObject, type Json, pointerTo } from '@sallyport/core'
import { refusal } from './source.ts'

/** A value that a query found, and where. */
export interface JsonMatch {
  readonly pointer: string
  readonly value: Json
}

type Step =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'each' }
  | { readonly kind: 'below' }

const MOST_VISITED = 500_000
const DEEPEST = 500
const STEP =
  /\.\.(?=[^.])|\.?\*|\.?\[\*\]|\.?\[(?<index>-?\d{1,15})\]|\.?\[(?<quoted>"(?:[^"\\]|\\.){0,1000}"|'[^'\\]{0,1000}')\]|\.?(?<name>[^.[\]*'"\s]{1,1000})/y

/** `$.items[*].name`, `$..id`, `$['a key'][-1]`: names, places, `*` and `..`; no expressions. */
export function readJsonPath(path: string): readonly Step[] {
  const steps: Step[] = []
  const wrong = (): Error =>
    refusal(`The path is ${JSON.stringify(path.slice(0, 80))}; expected one such as "$.items[*].name" or "$..id".`)
  if (!path.startsWith('$') || path.length > 2_000) throw wrong()
  for (let at = 1; at < path.length; at = STEP.lastIndex) {
    STEP.lastIndex = at
    const found = STEP.exec(path)
    if (found === null) throw wrong()
    steps.push(readStep(found))
  }
  return steps
}

function readStep({ 0: source, groups: { index, quoted, name } = {} }: RegExpExecArray): Step {
  if (source === '..') return { kind: 'below' }
  if (index !== undefined) return { kind: 'index', index: Number(index) }
  if (name !== undefined) return { kind: 'name', name }
  if (quoted === undefined) return { kind: 'each' }
  return { kind: 'name', name: quoted.startsWith('"') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1) }
}

interface Visit {
  readonly value: Json
  readonly steps: readonly string[]
}

/** In the order of the document, step by step. */
export function* queryJson(document: Json, path: readonly Step[]): Generator<JsonMatch> {
  const budget = { left: MOST_VISITED }
  for (const { value, steps } of follow({ value: document, steps: [] }, path, budget))
    yield { pointer: pointerTo(steps), value }
}

function* follow(visit: Visit, path: readonly Step[], budget: { left: number }): Generator<Visit> {
  if (--budget.left < 0) throw refusal(`The path leads to over ${MOST_VISITED} places. Give a narrower one.`)
  const [step, ...rest] = path
  if (step === undefined) yield visit
  else if (step.kind === 'below') yield* followBelow(visit, { path, rest }, budget)
  else for (const next of take(visit, step)) yield* follow(next, rest, budget)
}

function* followBelow(
  visit: Visit,
  { path, rest }: { readonly path: readonly Step[]; readonly rest: readonly Step[] },
  budget: { left: number },
): Generator<Visit> {
  if (visit.steps.length > DEEPEST) throw refusal(`The document is nested deeper than ${DEEPEST}.`)
  yield* follow(visit, rest, budget)
  for (const child of children(visit)) yield* follow(child, path, budget)
}

function* take(visit: Visit, step: Exclude<Step, { kind: 'below' }>): Generator<Visit> {
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

function* children({ value, steps }: Visit): Generator<Visit> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value))
    if (member !== undefined) yield { value: member, steps: [...steps, key] }
}
