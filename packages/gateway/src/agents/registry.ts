import { didYouMean, SallyportError } from '@sallyport/core'
import type { AgentAdapter } from './agent-adapter.ts'
import { amp } from './amp/amp.ts'
import { claudeCode } from './claude-code/claude-code.ts'
import { codex } from './codex/codex.ts'
import { cursor } from './cursor/cursor.ts'
import { geminiCli } from './gemini-cli/gemini-cli.ts'
import { opencode } from './opencode/opencode.ts'

/** In the order in which people are shown them. */
export const ADAPTERS: readonly AgentAdapter[] = [claudeCode, codex, geminiCli, amp, opencode, cursor]

const words = ({ id, aliases }: AgentAdapter): readonly string[] => [id, ...aliases]

/** The agent of this id or alias; `CLAUDE_CODE`, as profiles.json writes it, is one too. */
export function findAdapter(idOrAlias: string): AgentAdapter {
  const wanted = idOrAlias.toLowerCase().replaceAll('_', '-')
  const found = ADAPTERS.find((adapter) => words(adapter).includes(wanted))
  if (found !== undefined) return found
  throw new SallyportError(
    'AGENT_UNKNOWN',
    `There is no agent "${idOrAlias}".${didYouMean(wanted, ADAPTERS.flatMap(words))}`,
    { hint: `Known are ${ADAPTERS.map(({ id }) => id).join(', ')}.` },
  )
}
