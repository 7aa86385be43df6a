import {
  type AgentAdapter,
  type FoundServer,
  findProgram,
  type HostContext,
  listFoundServers,
  type NativeFileResult,
  readAgentConfigs,
} from '../../agents/agents.ts'

/** A file of an agent that could not be parsed. */
export interface BrokenFile {
  readonly agent: string
  readonly file: string
  readonly why: string
}

export interface FoundServers {
  readonly servers: readonly FoundServer[]
  readonly broken: readonly BrokenFile[]
  /** The agents that have a file or a program here. */
  readonly agents: readonly string[]
}

/** The servers of these agents, as defined in their own files. */
export async function findServers(adapters: readonly AgentAdapter[], host: HostContext): Promise<FoundServers> {
  const mcpAdapters = adapters.filter(({ supportsMcp }) => supportsMcp)
  const readings = await Promise.all(
    mcpAdapters.map(async (adapter) => ({ adapter, read: await readAgentConfigs(adapter, host) })),
  )
  const existing = readings.flatMap(({ adapter, read }) =>
    read.filter(({ state }) => state !== 'missing').map((reading) => ({ adapter, reading })),
  )
  return {
    servers: uniqueFiles(existing).flatMap(({ adapter, reading }) => listFoundServers(adapter, reading)),
    broken: existing.flatMap(({ adapter, reading }) => listBrokenFiles(adapter, reading)),
    agents: mcpAdapters
      .filter((adapter) => isInstalled(adapter, host) || existing.some((one) => one.adapter === adapter))
      .map(({ id }) => id),
  }
}

const isInstalled = ({ program }: AgentAdapter, host: HostContext): boolean =>
  program !== undefined && findProgram(program, host) !== undefined

interface AgentFileResult {
  readonly adapter: AgentAdapter
  readonly reading: NativeFileResult
}

/** Several agents may read the same `.mcp.json`: it is assigned to the first one. */
function uniqueFiles(readings: readonly AgentFileResult[]): readonly AgentFileResult[] {
  const seen = new Set<string>()
  return readings.filter(({ reading: { file } }) => {
    const key = JSON.stringify([file.path, file.project])
    if (file.scope === 'project' && seen.has(key)) return false
    seen.add(key)
    return true
  })
}

function listBrokenFiles({ id }: AgentAdapter, reading: NativeFileResult): readonly BrokenFile[] {
  const { path: file } = reading.file
  if (reading.state === 'broken') return [{ agent: id, file, why: reading.error.message }]
  if (reading.state !== 'read') return []
  return reading.config.problems.map((why) => ({ agent: id, file, why: `${file}: ${why}` }))
}
