import { parseArgs } from 'node:util'
import type { JsonObject } from '@sallyport/core'
import { locateState } from '../../config/config.ts'
import { createHostContext } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { formatDelegation } from './delegation.ts'
import { HOOK_AGENTS, type HookAgent, type HookAgentName, type HookCall, NO_DECISION } from './hook-agent.ts'
import { readHookCall } from './hook-input.ts'
import { findCalledTool, isIsolated, isSameServer } from './isolation-rules.ts'
import { findGatewayRoute, readIsolationSources } from './rule-places.ts'

interface HookFlags {
  readonly home?: string | undefined
  readonly state?: string | undefined
  /** Ask the gateway about tools that the agent has built in. */
  readonly govern?: boolean | undefined
  /** Without an answer these are not called. */
  readonly strict?: boolean | undefined
}

/**
 * Answers the hook of an agent. Whatever happens, the agent goes on: it would take another exit code than 0, and most
 * of all 2, for a refusal of every call.
 */
export async function answerHook([word, ...args]: readonly string[], context: CliContext): Promise<void> {
  const warn = (text: string): void => void context.process.stderr.write(`sallyport hook: ${firstLine(text)}\n`)
  let answer = NO_DECISION
  try {
    const flags = readFlags(args, warn)
    answer = await decideAnswer(HOOK_AGENTS[word as HookAgentName], { context, flags, warn })
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

/** With one that is not known, those that are count nevertheless. */
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

async function answerIsolation(agent: HookAgent, call: HookCall, judging: HookContext): Promise<JsonObject> {
  const { context, flags, warn } = judging
  const host = { ...createHostContext(context), ...(call.cwd !== undefined && { cwd: call.cwd }) }
  const places = await readIsolationSources(agent, context, { home: flags.home, host })
  for (const warning of places.warnings) warn(warning)
  const written = places.rules.flatMap(({ servers }) => servers.map(({ name }) => name))
  const ref = findCalledTool(call, { agent, servers: written })
  if (ref === undefined || !places.rules.some((rules) => isIsolated(ref, rules, agent))) return NO_DECISION
  const gateway = await findGatewayRoute(places, agent)
  // What comes through the gateway is isolated there.
  if (ref.server === gateway.name) return NO_DECISION
  const configuredName = gateway.servers.find((name) => isSameServer(name, ref.server))
  return agent.deny(formatDelegation(ref, call, { agent, gateway: gateway.name, configuredName }))
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
