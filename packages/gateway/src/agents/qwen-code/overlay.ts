import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { allowedNames, byName, createOverlay } from '../overlay-parts.ts'

const FILE = 'mcp.json'
/** They start no servers, and do not know our flags. */
const HARMLESS = new Set(['auth', 'extensions', 'hooks', 'mcp', 'sessions', 'update'])
/** They start servers, and cannot be told which. */
const UNGOVERNED = new Set(['board', 'channel', 'review', 'sandbox', 'serve'])

/** `--mcp-config` adds to the user's servers, and the names that are allowed take them away again. */
export const qwenCodeOverlay: AgentOverlay = {
  reserved: ['--mcp-config', '--allowed-mcp-server-names'],
  stays: ['user', 'project', 'local'],
  entry: (window) => ({
    ...window,
    trust: true,
    timeout: CALL_PATIENCE_S * 1_000,
    discoveryTimeoutMs: START_PATIENCE_S * 1_000,
  }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const [command = ''] = args
    if (UNGOVERNED.has(command)) throw ungoverned(command)
    if (HARMLESS.has(command)) return createOverlay({ args })
    return createOverlay({
      args: [`--mcp-config=${join(folder, FILE)}`, ...allowedNames(request, HARMLESS), ...args],
      files: { [FILE]: { mcpServers: byName(servers) } },
    })
  },
}

const ungoverned = (command: string): SallyportError =>
  new SallyportError('USAGE', `qwen ${command} cannot be told which servers to start.`, {
    hint: 'Start the agent itself, with or without -p.',
  })
