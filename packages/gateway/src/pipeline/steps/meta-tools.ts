import { basename } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import type { ServerConfig } from '../../config/config.ts'

/**
 * Tools of the Docker MCP Gateway itself. They find, add and run other tools, which would bypass the rules of those
 * tools: `mcp-exec` runs any tool by its name, `code-mode` writes programs that call several.
 */
const META_TOOLS: ReadonlySet<string> = new Set([
  'code-mode',
  'find-tools',
  'mcp-activate-profile',
  'mcp-add',
  'mcp-config-set',
  'mcp-create-profile',
  'mcp-exec',
  'mcp-find',
  'mcp-registry-import',
  'mcp-remove',
])

/** Tools that change what it offers, or that run code that nobody has reviewed. */
const CHANGING: ReadonlySet<string> = new Set([
  'code-mode',
  'mcp-activate-profile',
  'mcp-add',
  'mcp-config-set',
  'mcp-create-profile',
  'mcp-registry-import',
  'mcp-remove',
])

/** Normalizes a name: another version may write it with underscores. */
const plainName = (tool: string): string => tool.trim().toLowerCase().replaceAll('_', '-')

/** Whether the tool changes what a Docker MCP Gateway offers. */
export const changesGateway = (tool: string): boolean => CHANGING.has(plainName(tool))

const isMetaTool = (tool: string): boolean => META_TOOLS.has(plainName(tool))

export const isMcpExec = (tool: string): boolean => plainName(tool) === 'mcp-exec'

interface MetaToolAccess {
  readonly isDockerGateway: boolean
  readonly named: ReadonlySet<string>
}

/** A meta tool is closed unless the server's entry names it; a pattern is not enough. */
export const isClosedMetaTool = (tool: string, { isDockerGateway, named }: MetaToolAccess): boolean =>
  isDockerGateway && isMetaTool(tool) && !named.has(tool)

/** Recognizes a Docker MCP Gateway by its own name. Trusting it is safe: the name only adds restrictions. */
export const isDockerInfo = (serverInfo: JsonObject | undefined): boolean =>
  serverInfo?.name === 'Docker AI MCP Gateway'

/** Recognizes its own kind of entry, and a stdio entry that starts it like any other server. */
export function runsDockerGateway(config: ServerConfig | undefined): boolean {
  if (config?.kind === 'docker-gateway') return true
  if (config?.kind !== 'stdio') return false
  const [first, ...others] = [config.command, ...config.args].map((word) => basename(word))
  const words = first === 'docker-mcp' ? others : others.slice(others.indexOf('mcp') + 1)
  return (first === 'docker' || first === 'docker-mcp') && words[0] === 'gateway' && words[1] === 'run'
}
