import type { Comparison, Loss } from './check.ts'
import { isExcused, type KnownLoss } from './known-losses.ts'

/** What became of each leg, by its name. */
export type Results = ReadonlyMap<string, Comparison>

export interface Report {
  readonly text: string
  readonly isClean: boolean
}

export function createReport(results: Results, stale: readonly KnownLoss[]): Report {
  const losses = [...results].flatMap(([leg, { losses }]) => losses.map((loss) => ({ leg, loss })))
  const bad = losses.filter(({ leg, loss }) => !isExcused(leg, loss))
  const named = losses.filter(({ leg, loss }) => isExcused(leg, loss))
  const sections = [
    table(results),
    list('Lost', bad.map(lossLine)),
    list('Lost, and named in known-losses.ts', named.map(lossLine)),
    list(
      'Named in known-losses.ts, and not lost',
      stale.map(({ leg, scenario, reason }) => `${leg}: ${scenario}: ${reason}`),
    ),
  ]
  return { text: sections.filter((section) => section !== '').join('\n\n'), isClean: bad.length + stale.length === 0 }
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
  const excused = losses.filter((loss) => isExcused(leg, loss)).length
  return [kept.scored, scored, kept.unscored, losses.length - scored, excused]
}

function lossLine({ leg, loss }: { readonly leg: string; readonly loss: Loss }): string {
  const { scenario, id, name, isScored, message } = loss
  const what = id === scenario ? id : `${scenario} / ${id}`
  return `${leg}: ${isScored ? 'REQUIRED ' : ''}${what} (${name}): ${message.replaceAll(/\s+/g, ' ').slice(0, 400)}`
}

function list(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [`${title}:`, ...lines.map((line) => `- ${line}`)].join('\n')
}
