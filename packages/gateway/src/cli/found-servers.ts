import {
  type AgentAdapter,
  type AgentPlace,
  type FoundServer,
  findProgram,
  type NativeReading,
  readAgent,
} from '../agents/agents.ts'

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
export async function findServers(adapters: readonly AgentAdapter[], place: AgentPlace): Promise<FoundServers> {
  const able = adapters.filter(({ supportsMcp }) => supportsMcp)
  const readings = await Promise.all(able.map(async (adapter) => ({ adapter, read: await readAgent(adapter, place) })))
  const there = readings.flatMap(({ adapter, read }) =>
    read.filter(({ state }) => state !== 'missing').map((reading) => ({ adapter, reading })),
  )
  return {
    servers: uniqueFiles(there).flatMap(({ adapter, reading }) => serversIn(adapter, reading)),
    broken: there.flatMap(({ adapter, reading }) => brokenIn(adapter, reading)),
    agents: able
      .filter((adapter) => isInstalled(adapter, place) || there.some((one) => one.adapter === adapter))
      .map(({ id }) => id),
  }
}

const isInstalled = ({ program }: AgentAdapter, place: AgentPlace): boolean =>
  program !== undefined && findProgram(program, place) !== undefined

interface AgentReading {
  readonly adapter: AgentAdapter
  readonly reading: NativeReading
}

/** Several agents read one `.mcp.json`: it is the first one's. */
function uniqueFiles(readings: readonly AgentReading[]): readonly AgentReading[] {
  const seen = new Set<string>()
  return readings.filter(({ reading: { file } }) => {
    const place = JSON.stringify([file.path, file.project])
    if (file.scope === 'project' && seen.has(place)) return false
    seen.add(place)
    return true
  })
}

function serversIn(adapter: AgentAdapter, reading: NativeReading): readonly FoundServer[] {
  if (reading.state !== 'read') return []
  const { path: file, scope } = reading.file
  return reading.config.servers.map((native) => ({
    ...{ agent: adapter.id, file, scope, name: native.name },
    server: adapter.toServer(native),
  }))
}

function brokenIn({ id }: AgentAdapter, reading: NativeReading): readonly BrokenFile[] {
  const { path: file } = reading.file
  if (reading.state === 'broken') return [{ agent: id, file, why: reading.error.message }]
  if (reading.state !== 'read') return []
  return reading.config.problems.map((why) => ({ agent: id, file, why: `${file}: ${why}` }))
}
