import { join } from 'node:path'
import { type AgentOverlay, CALL_PATIENCE_S } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'

const FILE = 'cline_mcp_settings.json'

/** A data folder of its own with everything of the user's linked but the file of the servers. */
export const clineOverlay: AgentOverlay = {
  reserved: ['--config', '--data-dir'],
  stays: [],
  entry: (window) => ({ ...window, disabled: false, timeout: CALL_PATIENCE_S }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const data = join(folderFrom(request, 'CLINE_DIR', '.cline'), 'data')
    return createOverlay({
      args: ['--data-dir', join(folder, 'data'), ...args],
      files: { [`data/settings/${FILE}`]: settingsWith(request, 'mcpServers', byName(servers)) },
      mirrors: [
        { source: data, path: 'data', except: ['settings'] },
        { source: join(data, 'settings'), path: 'data/settings', except: [FILE] },
      ],
    })
  },
}
