import { getSessionId, getUserId, type McpServer } from '@sallyport/kit'
import type { GatewayParts } from './gateway-parts.ts'
import { compilePattern } from './governance/governance.ts'
import type { SessionShelves } from './isolation/isolation.ts'
import { stackOf } from './trace-of.ts'
import { createBuiltInServer } from './upstream/upstream.ts'
import { VERSION } from './version.ts'

/** The gateway's own tools, which see of each session its own workspace and results. */
export function createBuiltIns({ state, onWarning }: GatewayParts, shelves: SessionShelves): McpServer {
  return createBuiltInServer({
    version: VERSION,
    dataFolder: state,
    compilePattern,
    shelf: () => shelves.shelfFor({ user: getUserId(), session: getSessionId() }),
    onBug: (bug) => onWarning(`a built-in tool broke: ${stackOf(bug.error)}`),
  })
}
