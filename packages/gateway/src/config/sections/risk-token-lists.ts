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

/** The built-in words plus the changes of the operator: `word` adds a word, `!word` removes one. */
export function readRiskTokens(given: Given, report: SectionContext): RiskTokens {
  if (Object.keys(given).length === 0) return DEFAULT_GOVERNANCE.riskTokens
  const lists = {
    high: applyChanges('high', given, report),
    low: applyChanges('low', given, report),
    nouns: applyChanges('nouns', given, report),
  }
  for (const [index, word] of (given.low ?? []).entries())
    if (lists.high.includes(word))
      report.log.warn(
        nodeOf('low', index, report),
        `"${word}" is also in the list "high", which takes precedence. Write "!${word}" there.`,
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
        `this word is not in the list, so it cannot be removed.${didYouMean(word.slice(1), words)}`,
      )
  }
  return [...words]
}

const nodeOf = (list: keyof RiskTokens, index: number, { node }: SectionContext): ConfigNode =>
  node.children.get(list)?.children.get(index) ?? node
