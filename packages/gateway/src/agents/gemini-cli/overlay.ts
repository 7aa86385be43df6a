import { join } from 'node:path'
import { type AgentOverlay, CALL_PATIENCE_S, type OverlayRequest } from '../agent-overlay.ts'
import { allowedNames, byName, createOverlay, folderFrom, namesOf, objectIn, settingsWith } from '../overlay-parts.ts'

const FILE = 'settings.json'
const SHARED = '.gemini'
const COMMANDS = new Set(['mcp', 'extensions', 'extension', 'skills', 'skill', 'hooks', 'hook', 'gemma'])

/** A home of its own with everything of the user's linked but the settings, which it rewrites at start. */
export const geminiCliOverlay: AgentOverlay = {
  reserved: ['--allowed-mcp-server-names'],
  stays: ['project'],
  entry: (window) => ({ ...window, trust: true, timeout: CALL_PATIENCE_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const names = namesOf(servers)
    const settings = settingsWith(request, 'mcpServers', byName(servers))
    const mcp = { ...objectIn(settings, 'mcp'), allowed: names, excluded: [] }
    return createOverlay({
      args: [...allowedNames(request, COMMANDS), ...args],
      environment: { GEMINI_CLI_HOME: join(folder, 'home') },
      files: { [`home/${SHARED}/${FILE}`]: { ...settings, mcp } },
      mirrors: [{ source: join(userHome(request), SHARED), path: `home/${SHARED}`, except: [FILE] }],
    })
  },
}

const userHome = (request: OverlayRequest): string => folderFrom(request, 'GEMINI_CLI_HOME', '.')
