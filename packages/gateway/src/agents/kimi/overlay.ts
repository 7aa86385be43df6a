import { join } from 'node:path'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, notesOn, settingsWith } from '../overlay-parts.ts'

const FILE = 'mcp.json'

/** A home of its own with everything of the user's linked but the file of the servers. */
export const kimiOverlay: AgentOverlay = {
  reserved: ['--mcp-config', '--mcp-config-file'],
  stays: ['project'],
  entry: (window) => ({
    ...window,
    startupTimeoutMs: START_PATIENCE_S * 1_000,
    toolTimeoutMs: CALL_PATIENCE_S * 1_000,
  }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { KIMI_CODE_HOME: join(request.folder, 'home') },
      files: { [`home/${FILE}`]: settingsWith(request, 'mcpServers', byName(request.servers)) },
      mirrors: [{ source: folderFrom(request, 'KIMI_CODE_HOME', '.kimi-code'), path: 'home', except: [FILE] }],
      notes: notesOn(request, 'project', 'names servers that Kimi starts besides: they are not governed.'),
    }),
}
