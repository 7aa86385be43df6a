import {
  type AgentAdapter,
  type HostContext,
  type NativeFile,
  type ParsedNativeFile,
  readAgentConfigs,
} from '../../agents/agents.ts'

export interface CollectedFiles {
  readonly files: readonly ParsedNativeFile[]
  /** Those of a project that could not be read. */
  readonly broken: readonly NativeFile[]
  /** What a person should know of these. */
  readonly notes: readonly string[]
}

/** All that an agent's own files say that may count in one of these folders, the outermost first. */
export async function collectNativeFiles(
  adapter: AgentAdapter,
  place: HostContext,
  folders: readonly string[],
): Promise<CollectedFiles> {
  const seen = new Set<string>()
  const files: ParsedNativeFile[] = []
  const broken: NativeFile[] = []
  const notes: string[] = []
  for (const cwd of folders) {
    for (const reading of await readAgentConfigs(adapter, { ...place, cwd })) {
      const { path, scope, project } = reading.file
      // Seen from a folder below the home, the user's own file looks like one of a project.
      const key = JSON.stringify([path, project])
      if (seen.has(key) || reading.state === 'missing') continue
      seen.add(key)
      if (reading.state === 'read') files.push(reading)
      // Without the user's own settings the agent would be another one than they know.
      else if (scope === 'user') throw reading.error
      else {
        broken.push(reading.file)
        notes.push(`${reading.error.text} Servers in it are not known.`)
      }
    }
  }
  return { files, broken, notes }
}
