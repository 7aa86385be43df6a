import { join } from 'node:path'
import { namedPath, xdgConfig } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S } from '../agent-overlay.ts'
import { byName, createOverlay, settingsWith } from '../overlay-parts.ts'
import { projectFiles } from '../server-sources.ts'

const FILE = 'crush.json'

/** A configuration folder of its own with everything of the user's linked but the file of the servers. */
export const crushOverlay: AgentOverlay = {
  reserved: [],
  stays: ['project'],
  sources: [
    { name: 'configuration of the user', state: 'closed', means: '`CRUSH_GLOBAL_CONFIG`' },
    projectFiles('`crush.json`, `.crush.json`'),
    { name: 'what Crush itself keeps', state: 'open', means: '`crush.json` in its data folder; not driven here' },
  ],
  entry: (window) => ({ type: 'stdio', ...window, timeout: CALL_PATIENCE_S, disabled: false }),
  overlay: (request) => {
    const { place } = request
    const source = namedPath(place, 'CRUSH_GLOBAL_CONFIG') ?? join(xdgConfig(place), 'crush')
    return createOverlay({
      args: request.args,
      environment: { CRUSH_GLOBAL_CONFIG: join(request.folder, 'config') },
      files: { [`config/${FILE}`]: settingsWith(request, 'mcp', byName(request.servers)) },
      mirrors: [{ source, path: 'config', except: [FILE] }],
    })
  },
}
