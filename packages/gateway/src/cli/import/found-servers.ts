import {
  type AgentAdapter,
  type FoundServer,
  findProgram,
  type HostContext,
  type NativeFileResult,
  readAgentConfigs,
} from '../../agents/agents.ts'

/** A file of an agent that could not be understood. */
export interface BrokenFile {
  readonly agent: string
  readonly file: string
  readonly why: string
}

export interface FoundServers {
  readonly servers: readonly FoundServer[]
  readonly broken: readonly BrokenFile[]
  /** The agents of which there is a file or a program. */
  readonly agents: readonly string[]
}

/** The servers of some agents, as their own files name them. */
export async function findServers(adapters: readonly AgentAdapter[], place: HostContext): Promise<FoundServers> {
  const able = adapters.filter(({ supportsMcp }) => supportsMcp)
  const readings = await Promise.all(
    able.map(async (adapter) => ({ adapter, read: await readAgentConfigs(adapter, place) })),
  )
  const there = readings.flatMap(({ adapter, read }) =>
    read.filter(({ state }) => state !== 'missing').map((reading) => ({ adapter, reading })),
  )
  return {
    servers: uniqueFiles(there).flatMap(({ adapter, reading }) => listServers(adapter, reading)),
    broken: there.flatMap(({ adapter, reading }) => listBrokenFiles(adapter, reading)),
    agents: able
      .filter((adapter) => isInstalled(adapter, place) || there.some((one) => one.adapter === adapter))
      .map(({ id }) => id),
  }
}

const isInstalled = ({ program }: AgentAdapter, place: HostContext): boolean =>
  program !== undefined && findProgram(program, place) !== undefined

interface AgentFileResult {
  readonly adapter: AgentAdapter
  readonly reading: NativeFileResult
}

/** Several agents read one `.mcp.json`: it is the first one's. */
function uniqueFiles(readings: readonly AgentFileResult[]): readonly AgentFileResult[] {
  const seen = new Set<string>()
  return readings.filter(({ reading: { file } }) => {
    const place = JSON.stringify([file.path, file.project])
    if (file.scope === 'project' && seen.has(place)) return false
    seen.add(place)
    return true
  })
}

function listServers(adapter: AgentAdapter, reading: NativeFileResult): readonly FoundServer[] {
  if (reading.state !== 'read') return []
  const { path: file, scope } = reading.file
  return reading.config.servers.map((native) => ({
    ...{ agent: adapter.id, file, scope, name: native.name },
    server: adapter.toServer(native),
  }))
}

function listBrokenFiles({ id }: AgentAdapter, reading: NativeFileResult): readonly BrokenFile[] {
  const { path: file } = reading.file
  if (reading.state === 'broken') return [{ agent: id, file, why: reading.error.message }]
  if (reading.state !== 'read') return []
  return reading.config.problems.map((why) => ({ agent: id, file, why: `${file}: ${why}` }))
}
