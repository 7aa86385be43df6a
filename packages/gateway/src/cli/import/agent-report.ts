import type { DetectedAgent, NativeFileResult, NativeScope } from '../../agents/agents.ts'

/** An agent in JSON output. Entries may contain secrets, so only the names of servers are included. */
export interface AgentReport {
  readonly id: string
  readonly title: string
  readonly aliases: readonly string[]
  readonly supportsMcp: boolean
  readonly program: { readonly path: string; readonly version?: string; readonly problem?: string } | null
  readonly files: readonly AgentFileReport[]
  readonly enforcement: DetectedAgent['adapter']['enforcement']
  readonly toolFilter: DetectedAgent['adapter']['toolFilter'] | null
}

export interface AgentFileReport {
  readonly path: string
  readonly scope: NativeScope
  readonly state: NativeFileResult['state']
  readonly servers: readonly string[]
  /** Entries among the servers that are not valid servers. */
  readonly problems: readonly string[]
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string }
}

export function createAgentReport({ adapter, program, fileResults }: DetectedAgent): AgentReport {
  const { id, title, aliases, supportsMcp, enforcement, toolFilter } = adapter
  return {
    ...{ id, title, aliases, supportsMcp },
    program: program === undefined ? null : programReport(program),
    files: fileResults.map(fileReport),
    enforcement,
    toolFilter: toolFilter ?? null,
  }
}

const programReport = ({ path, version, why }: NonNullable<DetectedAgent['program']>) => ({
  path,
  ...(version !== undefined && { version }),
  ...(why !== undefined && { problem: why }),
})

function fileReport(reading: NativeFileResult): AgentFileReport {
  const { path, scope } = reading.file
  const base = { path, scope, state: reading.state }
  if (reading.state === 'missing') return { ...base, servers: [], problems: [] }
  if (reading.state === 'read')
    return { ...base, servers: reading.config.servers.map(({ name }) => name), problems: reading.config.problems }
  const { code, message, hint } = reading.error
  return { ...base, servers: [], problems: [], error: { code, message, ...(hint !== undefined && { hint }) } }
}

/** Whether the agent has a program or a file here. */
export const isDetected = ({ program, files }: AgentReport): boolean =>
  program !== null || files.some(({ state }) => state !== 'missing')
