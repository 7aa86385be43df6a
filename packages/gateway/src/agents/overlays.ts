import type { AgentOverlay } from './agent-overlay.ts'
import { ampOverlay } from './amp/overlay.ts'
import { claudeCodeOverlay } from './claude-code/overlay.ts'
import { clineOverlay } from './cline/overlay.ts'
import { codexOverlay } from './codex/overlay.ts'
import { continueOverlay } from './continue/overlay.ts'
import { copilotOverlay } from './copilot/overlay.ts'
import { crushOverlay } from './crush/overlay.ts'
import { droidOverlay } from './droid/overlay.ts'
import { geminiCliOverlay } from './gemini-cli/overlay.ts'
import { gooseOverlay } from './goose/overlay.ts'
import { kiloOverlay } from './kilo/overlay.ts'
import { kimiOverlay } from './kimi/overlay.ts'
import { opencodeOverlay } from './opencode/overlay.ts'
import { qwenCodeOverlay } from './qwen-code/overlay.ts'

/** The agents that can be given other servers for one run. */
const OVERLAYS: ReadonlyMap<string, AgentOverlay> = new Map([
  ['amp', ampOverlay],
  ['claude-code', claudeCodeOverlay],
  ['cline', clineOverlay],
  ['codex', codexOverlay],
  ['continue', continueOverlay],
  ['copilot', copilotOverlay],
  ['crush', crushOverlay],
  ['droid', droidOverlay],
  ['gemini-cli', geminiCliOverlay],
  ['goose', gooseOverlay],
  ['kilo', kiloOverlay],
  ['kimi', kimiOverlay],
  ['opencode', opencodeOverlay],
  ['qwen-code', qwenCodeOverlay],
])

export const findOverlay = (agent: string): AgentOverlay | undefined => OVERLAYS.get(agent)
