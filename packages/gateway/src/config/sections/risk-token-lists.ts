import { didYouMean, type RiskTokens } from '@sallyport/core'
import { DEFAULT_GOVERNANCE } from '../defaults.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import type { GovernanceSection } from './governance-schema.ts'

interface SectionContext {
  readonly node: ConfigNode
  readonly log: IssueLog
}

type Given = NonNullable<GovernanceSection['riskTokens']>

/** The built-in words with those of the operator: `word` adds one, `!word` takes one away. */
export function readRiskTokens(given: Given, report: SectionContext): RiskTokens {
  const built = DEFAULT_GOVERNANCE.riskTokens
  if (Object.keys(given).length === 0) return built
  const lists = {
    high: applyChanges('high', given, report),
    low: applyChanges('low', given, report),
    nouns: applyChanges('nouns', given, report),
  }
  for (const [index, word] of (given.low ?? []).entries())
    if (lists.high.includes(word))
      report.log.warn(
        nodeOf('low', index, report),
        `"${word}" stands among the high words too, and these win. Write "!${word}" there.`,
      )
  return lists
}

function applyChanges(list: keyof RiskTokens, given: Given, report: SectionContext): readonly string[] {
  const words = new Set(DEFAULT_GOVERNANCE.riskTokens[list])
  for (const [index, word] of (given[list] ?? []).entries()) {
    if (!word.startsWith('!')) words.add(word)
    else if (!words.delete(word.slice(1)))
      report.log.warn(
        nodeOf(list, index, report),
        `there is no such word to take away.${didYouMean(word.slice(1), words)}`,
      )
  }
  return [...words]
}

const nodeOf = (list: keyof RiskTokens, index: number, { node }: SectionContext): ConfigNode =>
  node.children.get(list)?.children.get(index) ?? node
