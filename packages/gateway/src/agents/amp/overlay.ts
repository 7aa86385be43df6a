import { join } from 'node:path'
import type { AgentOverlay } from '../agent-overlay.ts'
import { byName, createOverlay, settingsWith } from '../overlay-parts.ts'
import { filesWithServers, projectFiles } from '../server-sources.ts'

const FILE = 'settings.json'
/** A file that names servers by name, or by the usual key. */
const SKILL_FILES = { key: '"', files: /[/\\]mcp\.json$/, depth: 2 }

/** Another settings file in place of the user's, with all that theirs says but the servers. */
export const ampOverlay: AgentOverlay = {
  reserved: ['--settings-file', '--mcp-config'],
  stays: ['project'],
  sources: [
    { name: 'settings of the user', state: 'closed', means: '`--settings-file`' },
    projectFiles('`.amp/settings.json`; Amp asks before it starts these'),
    {
      name: 'skills',
      state: 'refused',
      means: '`mcp.json` of a skill',
      find: async ({ folders, place }) => {
        const homes = ['.config/agents', '.config/amp', '.claude', '.agents'].map((path) => join(place.home, path))
        const projects = folders.flatMap((folder) => ['.agents', '.claude'].map((name) => join(folder, name)))
        const found = await Promise.all(
          [...homes, ...projects].map((folder) => filesWithServers(join(folder, 'skills'), SKILL_FILES)),
        )
        return found.flat()
      },
    },
    { name: 'its account', state: 'open', means: 'what Amp’s own service adds; not driven here' },
  ],
  // An unknown key in an entry is an error here.
  entry: (window) => ({ ...window }),
  overlay: (request) =>
    createOverlay({
      args: ['--settings-file', join(request.folder, FILE), ...request.args],
      files: { [FILE]: settingsWith(request, 'amp.mcpServers', byName(request.servers)) },
    }),
}
