import type { AgentAdapter, HostContext } from './agent-adapter.ts'
import { readProgramVersion } from './ask-version.ts'
import { findProgram } from './find-program.ts'
import { type NativeFileResult, readAgentConfigs } from './read-agent.ts'

/** An agent on this machine. */
export interface DetectedAgent {
  readonly adapter: AgentAdapter
  readonly program: InstalledProgram | undefined
  readonly fileResults: readonly NativeFileResult[]
}

export interface InstalledProgram {
  readonly path: string
  readonly version: string | undefined
  /** Why it told no version. */
  readonly why: string | undefined
}

/** Some of them take half a second of a processor to say their version. */
const MAX_CONCURRENT = 4
const VERSION_TIMEOUT_MS = 5_000

/** Looks for agents and reads what they say of their servers. One that is broken spoils no other. */
export async function detectAgents(
  adapters: readonly AgentAdapter[],
  place: HostContext,
): Promise<readonly DetectedAgent[]> {
  const sights: DetectedAgent[] = []
  const waiting = [...adapters.entries()]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      sights[next[0]] = await detectAgent(next[1], place)
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work))
  return sights
}

async function detectAgent(adapter: AgentAdapter, place: HostContext): Promise<DetectedAgent> {
  const path = adapter.program === undefined ? undefined : findProgram(adapter.program, place)
  const [program, fileResults] = await Promise.all([
    path && readInstalledProgram(path, place),
    readAgentConfigs(adapter, place),
  ])
  return { adapter, program: program || undefined, fileResults }
}

async function readInstalledProgram(path: string, { environment, home }: HostContext): Promise<InstalledProgram> {
  const answer = await readProgramVersion({ program: path, environment, home, timeoutMs: VERSION_TIMEOUT_MS })
  return 'version' in answer
    ? { path, version: answer.version, why: undefined }
    : { path, version: undefined, why: answer.why }
}
