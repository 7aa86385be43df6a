import type { Check, Comparison, Loss } from './check.ts'
import { excuseOf, type KnownLoss } from './known-losses.ts'

/** What became of each leg, by its name. */
export type Results = ReadonlyMap<string, Comparison>

export interface Findings {
  readonly results: Results
  readonly stale: readonly KnownLoss[]
  /** Checks that fail without the gateway, by side and revision. */
  readonly failed: readonly { readonly name: string; readonly check: Check }[]
  /** Legs that could not be run, and why. */
  readonly broken: readonly string[]
}

interface LegLoss {
  readonly leg: string
  readonly loss: Loss
}

export interface Report {
  readonly text: string
  readonly isClean: boolean
}

export function createReport({ results, stale, failed, broken }: Findings): Report {
  const losses = [...results].flatMap(([leg, { losses }]) => losses.map((loss) => ({ leg, loss })))
  const bad = losses.filter(({ leg, loss }) => excuseOf(leg, loss) === undefined)
  const faults = [
    list('Not run', broken),
    list('Failed without the gateway', failed.map(failureLine)),
    list('Lost', bad.map(lossLine)),
    list('Named in known-losses.ts, and not lost', stale.map(staleLine)),
  ].filter((section) => section !== '')
  const notes = [
    list('Lost, and named in known-losses.ts', excuseLines(losses)),
    'Left out: the scenarios of authorization, since the gateway is no OAuth client of the servers behind it yet.',
  ].filter((section) => section !== '')
  return { text: [table(results), ...notes, ...faults].join('\n\n'), isClean: faults.length === 0 }
}

function table(results: Results): string {
  const rows = [...results].map(([leg, comparison]) => `| ${[leg, ...counts(leg, comparison)].join(' | ')} |`)
  return [
    '| leg | required: kept | lost | not required: kept | lost | of the lost: named |',
    '|---|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n')
}

function counts(leg: string, { kept, losses }: Comparison): readonly number[] {
  const scored = losses.filter(({ isScored }) => isScored).length
  const excused = losses.filter((loss) => excuseOf(leg, loss) !== undefined).length
  return [kept.scored, scored, kept.unscored, losses.length - scored, excused]
}

function lossLine({ leg, loss }: LegLoss): string {
  const { scenario, id, name, isScored, message } = loss
  const what = id === scenario ? id : `${scenario} / ${id}`
  return `${leg}: ${isScored ? 'REQUIRED ' : ''}${what} (${name}): ${message.replaceAll(/\s+/g, ' ').slice(0, 400)}`
}

/** Each excuse once, with what it is for. */
function excuseLines(losses: readonly LegLoss[]): readonly string[] {
  const scenarios = new Map<string, string[]>()
  for (const { leg, loss } of losses) {
    const reason = excuseOf(leg, loss)
    if (reason !== undefined) scenarios.set(reason, [...(scenarios.get(reason) ?? []), loss.scenario])
  }
  return [...scenarios].map(([reason, lost]) => `${lost.length} of ${[...new Set(lost)].join(', ')}: ${reason}`)
}

function failureLine({ name, check }: Findings['failed'][number]): string {
  return `${name}: ${check.scenario} / ${check.id}: ${check.status}: ${check.message}`
}

function staleLine({ leg, scenario, reason }: KnownLoss): string {
  return `${leg}: ${scenario}: ${reason}`
}

function list(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [`${title}:`, ...lines.map((line) => `- ${line}`)].join('\n')
}
