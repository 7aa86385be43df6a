import { join } from 'node:path'
import type { AgentOverlay } from '../agent-overlay.ts'
import { byName, createOverlay, notesOn, settingsWith } from '../overlay-parts.ts'

const FILE = 'settings.json'

/** Another settings file in place of the user's, with all that theirs says but the servers. */
export const ampOverlay: AgentOverlay = {
  reserved: ['--settings-file', '--mcp-config'],
  stays: ['project'],
  // An unknown key in an entry is an error here.
  entry: (window) => ({ ...window }),
  overlay: (request) =>
    createOverlay({
      args: ['--settings-file', join(request.folder, FILE), ...request.args],
      files: { [FILE]: settingsWith(request, 'amp.mcpServers', byName(request.servers)) },
      notes: notesOn(request, 'project', 'names servers that Amp still offers to start: do not approve them.'),
    }),
}
