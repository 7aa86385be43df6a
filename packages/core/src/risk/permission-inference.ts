import { isJsonObject } from '../json/json.ts'
import { PERMISSIONS, type Permission } from '../policy/permission.ts'
import type { ToolDefinition } from '../tool.ts'
import { inferNameRisk } from './name-risk.ts'
import { declaredPermissions, findRiskSigns, isYes } from './risk-signs.ts'
import type { RiskTokens } from './risk-tokens.ts'

export interface PermissionOptions {
  readonly tokens: RiskTokens
  /** Whether the server's statements about its tools are trusted. */
  readonly trusted: boolean
  readonly networkIsolated: boolean
}

export interface InferredPermission {
  readonly permission: readonly Permission[]
  /** One line, without text of the server. */
  readonly reason: string
}

interface Inference {
  readonly holds: boolean
  readonly why: string
}

/** Infers what a tool may do from its definition and from how its server runs (GOV-8). */
export function inferPermission(tool: ToolDefinition, options: PermissionOptions): InferredPermission {
  const writes = mayWrite(tool, options)
  const connects = mayConnect(tool, options)
  const held: Readonly<Record<Permission, boolean>> = { READ: true, WRITE: writes.holds, CONNECT: connects.holds }
  return {
    permission: PERMISSIONS.filter((permission) => held[permission]),
    reason: `${writes.why}; ${connects.why}`,
  }
}

function mayWrite(tool: ToolDefinition, { tokens, trusted }: PermissionOptions): Inference {
  const declared = trusted ? declaredPermissions(tool) : undefined
  if (declared !== undefined) return { holds: declared.includes('WRITE'), why: `declared ${declared.join(', ')}` }
  const hints = readHints(tool)
  if (trusted && hints.readOnlyHint === true && !isYes(hints.destructiveHint))
    return { holds: false, why: 'readOnlyHint' }
  const { level, word } = inferNameRisk(tool.name, tokens)
  if (level === 'unknown') return { holds: true, why: 'no known verb' }
  if (level === 'high') return { holds: true, why: `"${word}"` }
  const [sign] = findRiskSigns(tool, tokens)
  return sign === undefined ? { holds: false, why: `"${word}"` } : { holds: true, why: `"${word}", but ${sign.why}` }
}

/** A server that can reach the network is assumed to use it, unless it is trusted and says otherwise. */
function mayConnect(tool: ToolDefinition, { trusted, networkIsolated }: PermissionOptions): Inference {
  if (networkIsolated) return { holds: false, why: 'isolated from the network' }
  const declared = trusted ? declaredPermissions(tool) : undefined
  if (declared !== undefined && !declared.includes('CONNECT')) return { holds: false, why: 'declared without CONNECT' }
  if (declared === undefined && trusted && readHints(tool).openWorldHint === false)
    return { holds: false, why: 'openWorldHint: false' }
  return { holds: true, why: 'reaches the network' }
}

const readHints = (tool: ToolDefinition) => (isJsonObject(tool.annotations) ? tool.annotations : {})
