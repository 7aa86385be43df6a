import { didYouMean, type RiskTokens } from '@sallyport/core'
import { DEFAULT_GOVERNANCE } from './defaults.ts'
import type { GovernanceSection } from './governance-schema.ts'
import type { IssueLog } from './issue-log.ts'
import type { Spot } from './normalise.ts'

interface Report {
  readonly spot: Spot
  readonly log: IssueLog
}

type Given = NonNullable<GovernanceSection['riskTokens']>

/** The built-in words with those of the operator: `word` adds one, `!word` takes one away. */
export function readRiskTokens(given: Given, report: Report): RiskTokens {
  const built = DEFAULT_GOVERNANCE.riskTokens
  if (Object.keys(given).length === 0) return built
  const lists = {
    high: changed('high', given, report),
    low: changed('low', given, report),
    nouns: changed('nouns', given, report),
  }
  for (const [index, word] of (given.low ?? []).entries())
    if (lists.high.includes(word))
      report.log.warn(
        spotOf('low', index, report),
        `"${word}" stands among the high words too, and these win. Write "!${word}" there.`,
      )
  return lists
}

function changed(list: keyof RiskTokens, given: Given, report: Report): readonly string[] {
  const words = new Set(DEFAULT_GOVERNANCE.riskTokens[list])
  for (const [index, word] of (given[list] ?? []).entries()) {
    if (!word.startsWith('!')) words.add(word)
    else if (!words.delete(word.slice(1)))
      report.log.warn(
        spotOf(list, index, report),
        `there is no such word to take away.${didYouMean(word.slice(1), words)}`,
      )
  }
  return [...words]
}

const spotOf = (list: keyof RiskTokens, index: number, { spot }: Report): Spot =>
  spot.children.get(list)?.children.get(index) ?? spot
