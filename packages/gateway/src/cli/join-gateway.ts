import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { Home } from '../config/config.ts'
import { startBackgroundGateway } from './background-gateway.ts'
import { type ConnectionOptions, connectToGateway, JOIN_RETRY_MS, JOIN_TIMEOUT_MS } from './gateway-connection.ts'

export interface JoinOptions extends Omit<ConnectionOptions, 'home'> {
  readonly home: Home
  readonly cwd: string
  /** What a gateway that has to be started first gets of the world. */
  readonly environment: NodeJS.ProcessEnv
}

/** Joins the gateway that holds the state, starting one if none runs. */
export async function joinGateway(purpose: 'lines' | 'run', options: JoinOptions): Promise<Duplex> {
  const { home, state, cwd, environment } = options
  for (const until = performance.now() + JOIN_TIMEOUT_MS; ; await delay(JOIN_RETRY_MS)) {
    const joined = await connectToGateway(purpose, { ...options, home: home.path })
    if (joined) return joined
    // A home that was found in the working folder is found there again, with the question whether it is trusted.
    await startBackgroundGateway({ home: home.origin === 'project' ? undefined : home.path, state, cwd, environment })
    if (performance.now() > until)
      throw new SallyportError('GATEWAY_UNREACHABLE', `The gateway on the state ${state} does not answer.`)
  }
}
