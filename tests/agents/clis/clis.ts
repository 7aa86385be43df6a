import type { AgentCli } from '../agent-cli.ts'
import { claudeCode } from './claude-code.ts'
import { cline } from './cline.ts'
import { codex } from './codex.ts'
import { continueCli } from './continue.ts'
import { copilot } from './copilot.ts'
import { droid } from './droid.ts'
import { geminiCli } from './gemini-cli.ts'
import { goose } from './goose.ts'
import { kilo } from './kilo.ts'
import { kimi } from './kimi.ts'
import { opencode } from './opencode.ts'
import { qwenCode } from './qwen-code.ts'

/** Every agent that can be driven without an account. */
export const AGENT_CLIS: readonly AgentCli[] = [
  ...[claudeCode, codex, geminiCli, opencode, qwenCode, copilot, goose],
  ...[continueCli, droid, kilo, cline, kimi],
]
