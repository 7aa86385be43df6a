import { parseArgs } from 'node:util'
import {
  isJsonObject,
  isServerId,
  type Json,
  type JsonObject,
  mcpName,
  plainName,
  quoteText,
  slugServerId,
  type ToolRef,
  tryParseJson,
} from '@sallyport/core'
import { locateState } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import { createHostContext } from '../host-context.ts'
import {
  EXECUTOR_NAME,
  HOOK_AGENTS,
  type HookAgent,
  type HookAgentName,
  type HookCall,
  type ModelCall,
  NO_DECISION,
} from './hook-agent.ts'
import { findCalledTool, isIsolated, isSameServer } from './isolation-rules.ts'
import { findGatewayRoute, readIsolationSources } from './isolation-sources.ts'

interface HookFlags {
  readonly home?: string | undefined
  readonly state?: string | undefined
  /** Ask the gateway about the agent's built-in tools. */
  readonly govern?: boolean | undefined
  /** Deny built-in tools if the gateway does not answer. */
  readonly strict?: boolean | undefined
}

/**
 * Answers the hook of an agent. On any failure the agent continues: it would treat an exit code other than 0, above
 * all 2, as a refusal of every call.
 */
export async function answerHook([agentName, ...args]: readonly string[], context: CliContext): Promise<void> {
  const warn = (text: string): void => void context.process.stderr.write(`sallyport hook: ${firstLine(text)}\n`)
  let answer = NO_DECISION
  try {
    const flags = readFlags(args, warn)
    answer = await decideAnswer(HOOK_AGENTS[agentName as HookAgentName], { context, flags, warn })
  } catch (error) {
    warn(`${error instanceof Error ? error.message : 'something went wrong'} The call continues.`)
  }
  context.process.stdout.write(`${JSON.stringify(answer)}\n`)
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

const FLAGS = {
  home: { type: 'string' },
  state: { type: 'string' },
  json: { type: 'boolean' },
  govern: { type: 'boolean' },
  strict: { type: 'boolean' },
} as const

/** If one flag is unknown, the known ones still apply. */
function readFlags(args: readonly string[], warn: (text: string) => void): HookFlags {
  try {
    return parseArgs({ args: [...args], options: FLAGS, strict: true }).values
  } catch (error) {
    warn(error instanceof Error ? error.message : 'the flags cannot be read')
    const { home, state, govern, strict } = parseArgs({ args: [...args], options: FLAGS, strict: false }).values
    const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
    return { home: text(home), state: text(state), govern: govern === true, strict: strict === true }
  }
}

interface HookContext {
  readonly context: CliContext
  readonly flags: HookFlags
  readonly warn: (text: string) => void
}

async function decideAnswer(agent: HookAgent, { context, flags, warn }: HookContext): Promise<JsonObject> {
  if (context.stdin.isTTY) warn(`it answers an agent, which writes JSON to its stdin. End the input with Ctrl-D.`)
  const call = await readHookCall(context.stdin, agent)
  if (typeof call === 'string') {
    warn(`the input is not what ${agent.adapter.title} writes (${call}). The call continues.`)
    return NO_DECISION
  }
  const isBuiltIn = call.server === undefined && !call.name.startsWith(agent.prefix)
  if (isBuiltIn) return flags.govern ? answerBuiltIn(agent, call, { context, flags, warn }) : NO_DECISION
  return call.isFromExecutor ? NO_DECISION : answerIsolation(agent, call, { context, flags, warn })
}

async function answerIsolation(agent: HookAgent, call: HookCall, hook: HookContext): Promise<JsonObject> {
  const { context, flags, warn } = hook
  const host = { ...createHostContext(context), ...(call.cwd !== undefined && { cwd: call.cwd }) }
  const sources = await readIsolationSources(agent, context, { home: flags.home, host })
  for (const warning of sources.warnings) warn(warning)
  const knownServers = sources.rules.flatMap(({ servers }) => servers.map(({ name }) => name))
  const ref = findCalledTool(call, { agent, servers: knownServers })
  if (ref === undefined || !sources.rules.some((rules) => isIsolated(ref, rules, agent))) return NO_DECISION
  const gateway = await findGatewayRoute(sources, agent)
  // The gateway isolates calls that go through it.
  if (ref.server === gateway.name) return NO_DECISION
  const configuredName = gateway.servers.find((name) => isSameServer(name, ref.server))
  return agent.deny(
    formatDelegation(ref, call, { agent, gateway: gateway.name, naming: gateway.naming, configuredName }),
  )
}

async function answerBuiltIn(
  agent: HookAgent,
  call: HookCall,
  { context, flags, warn }: HookContext,
): Promise<JsonObject> {
  const { environment, cwd } = context
  const state = locateState({ flag: flags.state, environment, cwd })
  const { governCall } = await import('./govern.ts')
  return governCall(agent, call, { state, warn, onNoAnswer: flags.strict ? 'deny' : 'continue' })
}

/** The arguments of a tool may contain a whole file. */
const MAX_BYTES = 64 * 1024 ** 2

/** Reads the call from stdin. Returns a string that describes the problem if it is invalid. */
async function readHookCall(stdin: AsyncIterable<Buffer | string>, agent: HookAgent): Promise<HookCall | string> {
  const text = await readAll(stdin)
  if (text === undefined) return `it is larger than ${MAX_BYTES / 1024 ** 2} MB`
  if (text.trim() === '') return 'it is empty'
  const message = tryParseJson(text)
  if (message === undefined) return 'it is not JSON'
  return isJsonObject(message) ? agent.parseCall(message) : 'expected an object'
}

/** Always reads to the end: an agent may treat a hook that stops reading as crashed. */
async function readAll(stdin: AsyncIterable<Buffer | string>): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    length += bytes.length
    if (length > MAX_BYTES) chunks.length = 0
    else chunks.push(bytes)
  }
  return length > MAX_BYTES ? undefined : Buffer.concat(chunks).toString('utf8')
}

const MAX_NAME = 80
/** Longer input would fill the context that isolation keeps free. */
const MAX_INPUT = 4_000

interface DelegationOptions {
  /** The agent's name for our gateway, if the agent has it. */
  readonly gateway: string | undefined
  /** As written in our configuration. */
  readonly naming: Json | undefined
  /** The name of the server in our configuration, if it is there. */
  readonly configuredName: string | undefined
  readonly agent: HookAgent
}

/** The message for the model instead of a result. It contains the call to make as JSON (ISO-18). */
function formatDelegation(ref: ToolRef, call: HookCall, options: DelegationOptions): string {
  const { gateway, naming, configuredName, agent } = options
  const [tool, server] = [quoteText(ref.tool, MAX_NAME), quoteText(ref.server, MAX_NAME)]
  const input = limitInput(call)
  const why = `The tool ${tool} of the server ${server} is isolated: its result is not to enter this conversation as it is.`
  if (gateway !== undefined && configuredName !== undefined) {
    const server = isServerId(configuredName) ? configuredName : slugServerId(configuredName)
    const name = agent.toolName(gateway, formatWireName({ server, tool: ref.tool }, naming))
    const instead = JSON.stringify({ tool: name, ...(input !== undefined && { arguments: input }) })
    return `${why} Call the same tool through the gateway instead, ${describeInput(input)}:\n${instead}`
  }
  const task = { serverName: ref.server, toolName: ref.tool, ...(input !== undefined && { toolInput: input }) }
  const instead: ModelCall = agent.createDelegation(JSON.stringify(task), `Run ${ref.tool}`.slice(0, MAX_NAME))
  return [
    `${why} Hand the call to the sub-agent ${EXECUTOR_NAME} instead, ${describeInput(input)}:\n${JSON.stringify(instead)}`,
    `If there is no ${EXECUTOR_NAME}, tell the user to run \`sallyport hook install --print\`.`,
  ].join('\n')
}

function formatWireName(ref: ToolRef, naming: Json | undefined): string {
  if (naming === 'bare') return ref.tool
  return naming === 'mcp' ? mcpName(ref) : plainName(ref)
}

function limitInput({ input }: HookCall) {
  const value = input ?? {}
  return JSON.stringify(value).length <= MAX_INPUT ? value : undefined
}

const describeInput = (input: unknown): string =>
  input === undefined ? 'with the arguments of this call, which are too long to repeat here' : 'like this'
