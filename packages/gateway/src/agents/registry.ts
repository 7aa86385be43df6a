import { didYouMean, SallyportError } from '@sallyport/core'
import type { AgentAdapter } from './agent-adapter.ts'
import { aider } from './aider/aider.ts'
import { amp } from './amp/amp.ts'
import { claudeCode } from './claude-code/claude-code.ts'
import { claudeDesktop } from './claude-desktop/claude-desktop.ts'
import { cline } from './cline/cline.ts'
import { codex } from './codex/codex.ts'
import { continueCli } from './continue/continue.ts'
import { copilot } from './copilot/copilot.ts'
import { crush } from './crush/crush.ts'
import { cursor } from './cursor/cursor.ts'
import { droid } from './droid/droid.ts'
import { geminiCli } from './gemini-cli/gemini-cli.ts'
import { goose } from './goose/goose.ts'
import { kilo } from './kilo/kilo.ts'
import { kimi } from './kimi/kimi.ts'
import { opencode } from './opencode/opencode.ts'
import { qwenCode } from './qwen-code/qwen-code.ts'
import { vscode } from './vscode/vscode.ts'
import { zed } from './zed/zed.ts'

/** In the order in which they are shown. */
export const ADAPTERS: readonly AgentAdapter[] = [
  claudeCode,
  codex,
  geminiCli,
  amp,
  opencode,
  cursor,
  qwenCode,
  copilot,
  goose,
  claudeDesktop,
  vscode,
  zed,
  droid,
  continueCli,
  kimi,
  cline,
  kilo,
  crush,
  aider,
]

const listNames = ({ id, aliases }: AgentAdapter): readonly string[] => [id, ...aliases]

/** Finds an agent by id or alias, also in the spelling of profiles.json: `CLAUDE_CODE`. */
export function findAdapter(idOrAlias: string): AgentAdapter {
  const wanted = idOrAlias.toLowerCase().replaceAll('_', '-')
  const found = ADAPTERS.find((adapter) => listNames(adapter).includes(wanted))
  if (found !== undefined) return found
  throw new SallyportError(
    'AGENT_UNKNOWN',
    `There is no agent "${idOrAlias}".${didYouMean(wanted, ADAPTERS.flatMap(listNames))}`,
    { hint: `Known agents: ${ADAPTERS.map(({ id }) => id).join(', ')}.` },
  )
}
