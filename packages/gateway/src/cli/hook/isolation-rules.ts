import {
  canonicalName,
  compileNameGlob,
  foldName,
  type IsolatedServer,
  isJsonList,
  isJsonObject,
  type Json,
  plainName,
  shouldIsolateTool,
  slugServerId,
  type ToolRef,
} from '@sallyport/core'
import type { HookAgent, HookCall } from './hook-agent.ts'

/** What somebody wrote of a server. */
export interface ServerRule extends IsolatedServer {
  readonly name: string
}

/** What tools.yaml says of the tools that a name, or a glob over names, means. */
export interface ToolRule {
  readonly name: string
  readonly isolated: boolean
}

/** All that one place says: an agent's own file, or a home of ours with its tools.yaml. */
export interface IsolationRules {
  readonly servers: readonly ServerRule[]
  readonly tools: readonly ToolRule[]
}

/** The servers among which a call's own is looked for. */
export interface ToolLookup {
  readonly agent: HookAgent
  /** Every server that the agent, or one of the places, has. */
  readonly servers: readonly string[]
}

/** The server and the tool that a call means; nothing where it is no tool of a known server. */
export function findCalledTool({ name, server, tool }: HookCall, { agent, servers }: ToolLookup): ToolRef | undefined {
  if (server !== undefined && tool !== undefined) return { server, tool }
  const starts = (server === undefined ? servers : [server])
    .map((one) => ({ server: one, start: agent.toolName(one, '') }))
    .filter(({ start }) => name.startsWith(start))
    // `mcp__my__db__run` may be of `my` or of `my__db`: the longer one says more.
    .toSorted((a, b) => b.start.length - a.start.length)
  const [found] = starts
  return found && { server: found.server, tool: name.slice(found.start.length) }
}

/** Whether one place wants a tool isolated. What it says of the tool itself wins over what it says of the server. */
export function isIsolated(ref: ToolRef, { servers, tools }: IsolationRules, agent: HookAgent): boolean {
  const own = tools.filter(({ name }) => listToolNames(ref).some(createNameMatcher(name)))
  if (own.length > 0) return own.some(({ isolated }) => isolated)
  return servers.some((server) => isSameServer(server.name, ref.server) && isIsolatedByServer(server, ref, agent))
}

/** By any glob, or with the characters that agents change: of some tools an agent tells only such a name. */
function createNameMatcher(name: string): (writing: string) => boolean {
  const [isIn, folded] = [compileNameGlob(name), foldName(name)]
  return (writing) => isIn(writing) || foldName(writing) === folded
}

/** An agent may have changed characters of the name that it shows; those of the list are changed alike. */
function isIsolatedByServer(server: ServerRule, { tool }: ToolRef, agent: HookAgent): boolean {
  const same = server.isolatedTools?.find((one) => agent.toolName('', one) === agent.toolName('', tool))
  return shouldIsolateTool(server, same ?? tool)
}

/** A server that was imported has the slug of its name with the agent. */
export const isSameServer = (one: string, other: string): boolean =>
  one === other || (slugServerId(one) !== '' && slugServerId(one) === slugServerId(other))

/** Every way in which tools.yaml can name a tool. */
function listToolNames({ server, tool }: ToolRef): readonly string[] {
  const own = [server, slugServerId(server)].map((id) => ({ server: id, tool }))
  return [tool, `mcp_${tool}`, ...own.flatMap((ref) => [canonicalName(ref), `${ref.server}/${tool}`, plainName(ref)])]
}

export interface ParsedServerRule {
  readonly server: ServerRule
  /** The keys whose values are not of their kind. */
  readonly problems: readonly string[]
}

/** The two fields of an entry, in both spellings. A value of another kind says nothing, and is told of. */
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
