import { join } from 'node:path'
import type { AgentOverlay } from '../agent-overlay.ts'
import { createOverlay, entriesByName, settingsWithServers } from '../create-overlay.ts'
import { findFilesWithKey, projectFilesSource } from '../server-sources.ts'

const FILE = 'settings.json'
/** Any JSON file with at least one string: servers may be under the usual key, or directly by name. */
const SKILL_FILES = { key: '"', files: /[/\\]mcp\.json$/, depth: 2 }

/** Replaces the user's settings file by one with the same settings but other servers. */
export const ampOverlay: AgentOverlay = {
  reservedFlags: ['--settings-file', '--mcp-config'],
  remainingScopes: ['project'],
  sources: [
    { name: 'settings of the user', state: 'closed', mechanism: '`--settings-file`' },
    projectFilesSource('`.amp/settings.json`; Amp asks before it starts these'),
    {
      name: 'skills',
      state: 'refused',
      mechanism: '`mcp.json` of a skill',
      find: async ({ folders, host }) => {
        const homes = ['.config/agents', '.config/amp', '.claude', '.agents'].map((path) => join(host.home, path))
        const projects = folders.flatMap((folder) => ['.agents', '.claude'].map((name) => join(folder, name)))
        const found = await Promise.all(
          [...homes, ...projects].map((folder) => findFilesWithKey(join(folder, 'skills'), SKILL_FILES)),
        )
        return found.flat()
      },
    },
    { name: 'its account', state: 'open', mechanism: 'what Amp’s own service adds; not driven here' },
  ],
  // Amp refuses entries with unknown keys.
  createEntry: (window) => ({ ...window }),
  overlay: (request) =>
    createOverlay({
      args: ['--settings-file', join(request.folder, FILE), ...request.args],
      files: { [FILE]: settingsWithServers(request, 'amp.mcpServers', entriesByName(request.servers)) },
    }),
}
