import { join } from 'node:path'
import { type AgentOverlay, CALL_TIMEOUT_S } from '../agent-overlay.ts'
import { pathFromVariable, xdgConfig } from '../agent-paths.ts'
import { createOverlay, entriesByName, settingsWithServers } from '../create-overlay.ts'
import { projectFilesSource } from '../server-sources.ts'

const FILE = 'crush.json'

/** A separate configuration folder with links to all of the user's files except the one with the servers. */
export const crushOverlay: AgentOverlay = {
  reservedFlags: [],
  remainingScopes: ['project'],
  sources: [
    { name: 'configuration of the user', state: 'closed', mechanism: '`CRUSH_GLOBAL_CONFIG`' },
    projectFilesSource('`crush.json`, `.crush.json`'),
    { name: 'what Crush itself keeps', state: 'open', mechanism: '`crush.json` in its data folder; not driven here' },
  ],
  createEntry: (window) => ({ type: 'stdio', ...window, timeout: CALL_TIMEOUT_S, disabled: false }),
  overlay: (request) => {
    const { host } = request
    const source = pathFromVariable(host, 'CRUSH_GLOBAL_CONFIG') ?? join(xdgConfig(host), 'crush')
    return createOverlay({
      args: request.args,
      environment: { CRUSH_GLOBAL_CONFIG: join(request.folder, 'config') },
      files: { [`config/${FILE}`]: settingsWithServers(request, 'mcp', entriesByName(request.servers)) },
      mirrors: [{ source, path: 'config', except: [FILE] }],
    })
  },
}
