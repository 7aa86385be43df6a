import { setTimeout as delay } from 'node:timers/promises'
import type { GatewayClient, ServerView } from './gateway-client.ts'

const SETTLE_TIMEOUT_MS = 30_000
const SETTLE_PAUSE_MS = 50

/**
 * In a gateway that was started for this command all servers are still starting, and the user wants their real state.
 */
export async function waitForServers(client: GatewayClient, signal: AbortSignal): Promise<readonly ServerView[]> {
  for (const until = performance.now() + SETTLE_TIMEOUT_MS; ; await delay(SETTLE_PAUSE_MS, undefined, { signal })) {
    const servers = await client.servers(signal)
    const isStarting = servers.some(
      ({ state, counterpart }) => state === 'starting' || counterpart?.state === 'starting',
    )
    if (performance.now() > until || !isStarting) return servers
  }
}
