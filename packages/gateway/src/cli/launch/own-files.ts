import { dirname } from 'node:path'
import { type AgentAdapter, type AgentPlace, type OwnFile, readAgent } from '../../agents/agents.ts'

export interface OwnFiles {
  readonly files: readonly OwnFile[]
  /** What a person should know of those that could not be read. */
  readonly notes: readonly string[]
}

/** All that an agent's own files say that may count in this folder: many agents look in the folders above it too. */
export async function readOwnFiles(adapter: AgentAdapter, place: AgentPlace): Promise<OwnFiles> {
  const seen = new Set<string>()
  const files: OwnFile[] = []
  const notes: string[] = []
  for (const cwd of withParents(place.cwd)) {
    for (const reading of await readAgent(adapter, { ...place, cwd })) {
      const { path, scope, project } = reading.file
      // Seen from a folder below the home, the user's own file looks like one of a project.
      const key = JSON.stringify([path, project])
      if (seen.has(key) || reading.state === 'missing') continue
      seen.add(key)
      if (reading.state === 'read') files.push(reading)
      // Without the user's own settings the agent would be another one than they know.
      else if (scope === 'user') throw reading.error
      else notes.push(`${reading.error.text} Servers in it are not known.`)
    }
  }
  return { files, notes }
}

/** From the outermost to the innermost, which counts most. */
function withParents(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [...withParents(parent), folder]
}
