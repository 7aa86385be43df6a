import { join } from 'node:path'
import type { AgentOverlay } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, notesOn, settingsWith } from '../overlay-parts.ts'

const FILE = 'mcp.json'
const SHARED = '.factory'

/** A home of its own with everything of the user's linked but the file of the servers. */
export const droidOverlay: AgentOverlay = {
  reserved: [],
  stays: ['project'],
  entry: (window) => ({ type: 'stdio', ...window, disabled: false }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { FACTORY_HOME_OVERRIDE: join(request.folder, 'home') },
      files: { [`home/${SHARED}/${FILE}`]: settingsWith(request, 'mcpServers', byName(request.servers)) },
      mirrors: [
        {
          source: join(folderFrom(request, 'FACTORY_HOME_OVERRIDE', '.'), SHARED),
          path: `home/${SHARED}`,
          except: [FILE],
        },
      ],
      notes: notesOn(request, 'project', 'names servers that Droid starts besides: they are not governed.'),
    }),
}
