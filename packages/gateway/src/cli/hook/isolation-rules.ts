import {
  canonicalName,
  compileNameGlob,
  foldName,
  type IsolatedServer,
  isJsonList,
  isJsonObject,
  type Json,
  mcpName,
  plainName,
  shouldIsolateTool,
  slugServerId,
  type ToolRef,
} from '@sallyport/core'
import type { HookAgent, HookCall } from './hook-agent.ts'

/** The isolation settings of a server. */
export interface ServerRule extends IsolatedServer {
  readonly name: string
}

/** The isolation setting in tools.yaml for the tools that match a name or a glob. */
export interface ToolRule {
  readonly name: string
  readonly isolated: boolean
}

/** All rules of one source: an agent's own file, or a Sallyport home with its tools.yaml. */
export interface IsolationRules {
  readonly servers: readonly ServerRule[]
  readonly tools: readonly ToolRule[]
}

/** The servers among which the server of a call is searched. */
export interface ToolLookup {
  readonly agent: HookAgent
  /** Every server of the agent and of the other sources. */
  readonly servers: readonly string[]
}

/** Finds the server and the tool of a call; `undefined` if it is not a tool of a known server. */
export function findCalledTool({ name, server, tool }: HookCall, { agent, servers }: ToolLookup): ToolRef | undefined {
  if (server !== undefined && tool !== undefined) return { server, tool }
  const starts = (server === undefined ? servers : [server])
    .map((one) => ({ server: one, start: agent.toolName(one, '') }))
    .filter(({ start }) => name.startsWith(start))
    // `mcp__my__db__run` may be of `my` or of `my__db`: the longer one is more specific.
    .toSorted((a, b) => b.start.length - a.start.length)
  const [found] = starts
  return found && { server: found.server, tool: name.slice(found.start.length) }
}

/** Whether one source isolates a tool. A rule for the tool takes precedence over a rule for its server. */
export function isIsolated(ref: ToolRef, { servers, tools }: IsolationRules, agent: HookAgent): boolean {
  const own = tools.filter(({ name }) => listToolNames(ref).some(createNameMatcher(name)))
  if (own.length > 0) return own.some(({ isolated }) => isolated)
  return servers.some((server) => isSameServer(server.name, ref.server) && isIsolatedByServer(server, ref, agent))
}

/**
 * Matches by glob, or after folding the characters that agents replace: for some tools the agent sends only such a
 * name.
 */
function createNameMatcher(name: string): (candidate: string) => boolean {
  const [matchesGlob, folded] = [compileNameGlob(name), foldName(name)]
  return (candidate) => matchesGlob(candidate) || foldName(candidate) === folded
}

/**
 * An agent may have replaced characters in the tool's name, so the names in the list are compared after the same
 * replacement.
 */
function isIsolatedByServer(server: ServerRule, { tool }: ToolRef, agent: HookAgent): boolean {
  const same = server.isolatedTools?.find((one) => agent.toolName('', one) === agent.toolName('', tool))
  return shouldIsolateTool(server, same ?? tool)
}

/** An imported server is named by the slug of its name in the agent. */
export const isSameServer = (one: string, other: string): boolean =>
  one === other || (slugServerId(one) !== '' && slugServerId(one) === slugServerId(other))

/** Every way in which tools.yaml can name a tool. */
function listToolNames({ server, tool }: ToolRef): readonly string[] {
  const own = [server, slugServerId(server)].map((id) => ({ server: id, tool }))
  const full = own.flatMap((ref) => [canonicalName(ref), `${ref.server}/${tool}`, plainName(ref), mcpName(ref)])
  return [tool, `mcp_${tool}`, ...full]
}

export interface ParsedServerRule {
  readonly server: ServerRule
  /** The keys whose values have the wrong type. */
  readonly problems: readonly string[]
}

/** Reads the two fields of an entry, in both spellings. A value of the wrong type is ignored and reported. */
export function parseServerRule(name: string, entry: Json | undefined): ParsedServerRule {
  if (!isJsonObject(entry)) return { server: { name }, problems: [] }
  const listKey = entry.isolatedTools === undefined ? 'isolated_tools' : 'isolatedTools'
  const { isolated, [listKey]: list } = entry
  const isFlag = isolated === undefined || isolated === null || typeof isolated === 'boolean'
  const isList = list === undefined || list === null || (isJsonList(list) && list.every(isString))
  return {
    server: { name, isolated: isolated === true, isolatedTools: isJsonList(list) ? list.filter(isString) : [] },
    problems: [...(isFlag ? [] : ['isolated']), ...(isList ? [] : [listKey])],
  }
}

const isString = (value: Json): value is string => typeof value === 'string'
