import type { JsonObject } from '@sallyport/core'
import type { HostContext } from '../../agents/agents.ts'
import { folderFromVariable, joinPath } from '../../agents/agents.ts'
import type { HookAgentName } from './hook-agent.ts'

/** A text for a person to paste, and the file that it belongs into. */
export interface PasteableText {
  readonly file: string
  readonly text: string
}

/** Far more than the hook takes: one that hangs is not waited for. In the agent's own unit. */
const TIMEOUTS = { claude: 10, gemini: 10_000 } as const

/** Only tools of servers concern isolation; other calls are not even held up for the start of a program. */
const MATCHERS = { claude: 'mcp__.*', gemini: 'mcp_.*' } as const

export interface HookEntryOptions {
  readonly host: HostContext
  /** The command line that answers, as a shell takes it. */
  readonly command: string
  /** Whether it is asked about tools that the agent has built in, too. */
  readonly tools: 'of servers' | 'all'
}

/** The entry that makes an agent ask before it calls a tool. */
export function buildHookEntry(word: HookAgentName, { host, command, tools }: HookEntryOptions): PasteableText {
  const group = {
    matcher: tools === 'all' ? '.*' : MATCHERS[word],
    hooks: [{ type: 'command', command, timeout: TIMEOUTS[word] }],
  }
  const hooks: JsonObject = word === 'claude' ? { PreToolUse: [group] } : { BeforeTool: [group] }
  return {
    file: joinPath(host, resolveAgentFolder(word, host), 'settings.json'),
    text: `${JSON.stringify({ hooks }, undefined, 2)}\n`,
  }
}

/** Where an agent keeps its settings and its sub-agents for every project. */
export function resolveAgentFolder(word: HookAgentName, place: HostContext): string {
  if (word === 'gemini') return joinPath(place, folderFromVariable(place, 'GEMINI_CLI_HOME'), '.gemini')
  return folderFromVariable(place, 'CLAUDE_CONFIG_DIR', '.claude')
}
