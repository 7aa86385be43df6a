import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port for a server that comes back to it, or whose clients know it before it starts.
 *
 * It is below those that the system chooses (Linux: from 32768), so no connection and no other server gets it meanwhile.
 */
export async function findLastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    server.close()
    await once(server, 'close')
    return true
  } catch {
    return false
  }
}
