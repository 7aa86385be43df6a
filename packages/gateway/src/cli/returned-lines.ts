import type { ErrorCode, ReturnedFacts } from '@sallyport/core'
import type { Ended } from './call-story.ts'
import { fixOf } from './error-fix.ts'
import { visibleLine } from './terminal-text.ts'

const WAYS: Readonly<Record<string, string>> = {
  shaped: 'shaped by its preset or context.cap',
  bounded: 'isolated by the strategy bounded',
  extract: 'isolated by the strategy extract: the answer of a model',
  agent: 'isolated by the strategy agent',
}

/** What of a result reached its caller, in words; nothing where that was all of it. */
export function returnedLines(ended: Ended): readonly string[] {
  const { returned } = ended
  if (returned === undefined) return []
  const shown = ended.type === 'TOOL_CALL_FAILED' ? 'nothing' : `${returned.bytes} bytes`
  const lines = [`${shown}, ${wayOf(returned)}`, `about ${returned.tokens_kept} tokens were kept out`]
  return [...lines, ...fallBack(returned, ended), ...modelText(returned), ...wholeText(returned)].map(visibleLine)
}

const wayOf = ({ strategy, fell_back }: ReturnedFacts): string =>
  fell_back === undefined ? (WAYS[strategy] ?? strategy) : `bounded in place of the strategy ${strategy}`

function fallBack({ fell_back }: ReturnedFacts, about: Ended): readonly string[] {
  if (fell_back === undefined) return []
  const fix = fixOf(fell_back as ErrorCode, about)
  return [`it fell back because of ${fell_back}${fix === undefined ? '' : `. ${fix}`}`]
}

function modelText({ turns, tokens_in = 0, tokens_out = 0 }: ReturnedFacts): readonly string[] {
  if (turns === undefined) return []
  return [`${turns} ${turns === 1 ? 'turn' : 'turns'} of a model, ${tokens_in} tokens in, ${tokens_out} out`]
}

const wholeText = ({ handle }: ReturnedFacts): readonly string[] =>
  handle === undefined ? [] : [`its session can read the whole as ${handle}`]
