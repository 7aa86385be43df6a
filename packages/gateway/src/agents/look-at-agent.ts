import type { AgentAdapter, AgentPlace } from './agent-adapter.ts'
import { askVersion } from './ask-version.ts'
import { findProgram } from './find-program.ts'
import { type NativeReading, readAgent } from './read-agent.ts'

/** An agent on this machine. */
export interface AgentSight {
  readonly adapter: AgentAdapter
  readonly program: InstalledProgram | undefined
  readonly readings: readonly NativeReading[]
}

export interface InstalledProgram {
  readonly path: string
  readonly version: string | undefined
  /** Why it told no version. */
  readonly why: string | undefined
}

/** Some of them take half a second of a processor to say their version. */
const AT_ONCE = 4
const VERSION_LIMIT_MS = 5_000

/** Looks for agents and reads what they say of their servers. One that is broken spoils no other. */
export async function lookAtAgents(
  adapters: readonly AgentAdapter[],
  place: AgentPlace,
): Promise<readonly AgentSight[]> {
  const sights: AgentSight[] = []
  const waiting = [...adapters.entries()]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      sights[next[0]] = await lookAt(next[1], place)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return sights
}

async function lookAt(adapter: AgentAdapter, place: AgentPlace): Promise<AgentSight> {
  const path = adapter.program === undefined ? undefined : findProgram(adapter.program, place)
  const [program, readings] = await Promise.all([path && installed(path, place), readAgent(adapter, place)])
  return { adapter, program: program || undefined, readings }
}

async function installed(path: string, { environment, home }: AgentPlace): Promise<InstalledProgram> {
  const answer = await askVersion({ program: path, environment, home, limitMs: VERSION_LIMIT_MS })
  return 'version' in answer
    ? { path, version: answer.version, why: undefined }
    : { path, version: undefined, why: answer.why }
}
