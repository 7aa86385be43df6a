import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { type AgentAdapter, claudeCode, geminiCli } from '../../agents/agents.ts'

/** A call that an agent is about to make, as its hook describes it. */
export interface HookCall {
  /** The agent's name for the tool. */
  readonly name: string
  /** The server and the tool's own name, if the agent sends them: the combined name cannot be split reliably. */
  readonly server: string | undefined
  readonly tool: string | undefined
  readonly input: Json | undefined
  /** Where the agent works. */
  readonly cwd: string | undefined
  /** The agent reports that its sub-agent `mcp-executor` makes the call, not the conversation. */
  readonly isFromExecutor: boolean
}

/** A tool with its arguments, as the model would write the call. */
export interface ModelCall {
  readonly tool: string
  readonly arguments: JsonObject
}

/** The specifics of one agent's hook. */
export interface HookAgent {
  readonly adapter: AgentAdapter
  readonly event: string
  /** Returns a string that describes the problem if the message is not a call. */
  parseCall(message: JsonObject): HookCall | string
  /** The prefix of the names of all MCP tools. */
  readonly prefix: string
  /** The name of an MCP tool for the model. Such names are composed and compared, but never split (ISO-2). */
  toolName(server: string, tool: string): string
  deny(reason: string): JsonObject
  ask(reason: string): JsonObject
  /** The call with which the model delegates a task to `mcp-executor`. */
  createDelegation(task: string, title: string): ModelCall
}

export const EXECUTOR_NAME = 'mcp-executor'

const asString = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

const getStringMember = (value: Json | undefined, key: string): string | undefined =>
  isJsonObject(value) ? asString(value[key]) : undefined

/** Parses the fields that both agents share. A message of another event is not a call. */
function parseCommonCall(message: JsonObject, event: string): HookCall | string {
  const { hook_event_name: receivedEvent, tool_name: name, tool_input: input, cwd } = message
  if (receivedEvent !== undefined && receivedEvent !== event) return `expected the event ${event}`
  if (typeof name !== 'string' || name === '') return 'expected "tool_name" to be a string'
  return { name, server: undefined, tool: undefined, input, cwd: asString(cwd), isFromExecutor: false }
}

/** https://docs.claude.com/en/docs/claude-code/hooks: `agent_id` is only there when a sub-agent calls. */
const claude: HookAgent = {
  adapter: claudeCode,
  event: 'PreToolUse',
  prefix: 'mcp__',
  parseCall(message) {
    const call = parseCommonCall(message, claude.event)
    if (typeof call === 'string') return call
    const isFromExecutor = typeof message.agent_id === 'string' && message.agent_type === EXECUTOR_NAME
    return { ...call, server: getStringMember(message.mcp_server, 'name'), isFromExecutor }
  },
  toolName: (server, tool) => `mcp__${sanitizeClaudeName(server)}__${sanitizeClaudeName(tool)}`,
  deny: (reason) => claudeDecision('deny', reason),
  ask: (reason) => claudeDecision('ask', reason),
  createDelegation: (prompt, description) => ({
    tool: 'Agent',
    // By default it runs in the background, and then its answer would not be the result of this call.
    arguments: { subagent_type: EXECUTOR_NAME, description, prompt, run_in_background: false },
  }),
}

const sanitizeClaudeName = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, '_')

const claudeDecision = (permissionDecision: string, permissionDecisionReason: string): JsonObject => ({
  hookSpecificOutput: { hookEventName: claude.event, permissionDecision, permissionDecisionReason },
})

/** Gemini CLI sends no field that identifies a call of a sub-agent. */
const gemini: HookAgent = {
  adapter: geminiCli,
  event: 'BeforeTool',
  prefix: 'mcp_',
  parseCall(message) {
    const call = parseCommonCall(message, gemini.event)
    if (typeof call === 'string') return call
    const { mcp_context: context } = message
    return { ...call, server: getStringMember(context, 'server_name'), tool: getStringMember(context, 'tool_name') }
  },
  toolName: (server, tool) => `mcp_${server}_${tool}`.replaceAll(/[^A-Za-z0-9_.:-]/g, '_'),
  deny: (reason) => ({ decision: 'deny', reason }),
  ask: (reason) => ({ decision: 'ask', reason, systemMessage: reason }),
  createDelegation: (prompt) => ({ tool: 'invoke_agent', arguments: { agent_name: EXECUTOR_NAME, prompt } }),
}

/** By the names that `sallyport hook` accepts. */
export const HOOK_AGENTS: Readonly<Record<'gemini' | 'claude', HookAgent>> = { gemini, claude }

export type HookAgentName = keyof typeof HOOK_AGENTS

/** Leaves the call to the agent's own rules. Both agents accept an empty object for this. */
export const NO_DECISION: JsonObject = {}
