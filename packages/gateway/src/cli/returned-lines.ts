import type { ErrorCode, ReturnedFacts } from '@sallyport/core'
import type { CallEndEvent } from './call-story.ts'
import { findFix } from './error-fix.ts'
import { visibleLine } from './terminal-text.ts'

const STRATEGY_TEXTS: Readonly<Record<string, string>> = {
  shaped: 'shaped by its preset or context.cap',
  bounded: 'isolated by the strategy bounded',
  extract: 'isolated by the strategy extract: the answer of a model',
  agent: 'isolated by the strategy agent',
}

/** What of a result reached its caller, in words; nothing where that was all of it. */
export function describeReturned(ended: CallEndEvent): readonly string[] {
  const { returned } = ended
  if (returned === undefined) return []
  const shown = ended.type === 'TOOL_CALL_FAILED' ? 'nothing' : `${returned.bytes} bytes`
  const lines = [`${shown}, ${describeStrategy(returned)}`, `about ${returned.tokens_kept} tokens were kept out`]
  return [...lines, ...describeFallback(returned, ended), ...modelText(returned), ...wholeText(returned)].map(
    visibleLine,
  )
}

const describeStrategy = ({ strategy, fell_back }: ReturnedFacts): string =>
  fell_back === undefined ? (STRATEGY_TEXTS[strategy] ?? strategy) : `bounded in place of the strategy ${strategy}`

function describeFallback({ fell_back }: ReturnedFacts, about: CallEndEvent): readonly string[] {
  if (fell_back === undefined) return []
  const fix = findFix(fell_back as ErrorCode, about)
  return [`it fell back because of ${fell_back}${fix === undefined ? '' : `. ${fix}`}`]
}

function modelText({ turns, tokens_in = 0, tokens_out = 0 }: ReturnedFacts): readonly string[] {
  if (turns === undefined) return []
  return [`${turns} ${turns === 1 ? 'turn' : 'turns'} of a model, ${tokens_in} tokens in, ${tokens_out} out`]
}

const wholeText = ({ handle }: ReturnedFacts): readonly string[] =>
  handle === undefined ? [] : [`its session can read the whole as ${handle}`]
