import { randomBytes } from 'node:crypto'
import { DOCKER_ENVIRONMENT, listSecretForms } from '@sallyport/core'
import { collectSecrets, type DockerGatewayConfig } from '../../config/config.ts'
import { StdioTransport } from '../stdio/stdio.ts'
import type { Transport } from '../transport.ts'
import { explainDockerFailure } from './docker-failure.ts'
import { type DockerRun, StreamingTransport } from './streaming-transport.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * How long a start may take. The first one may have to fetch images, so `timeouts.startup` only limits how long calls
 * wait for it: a start that were cut off and begun anew would never end.
 */
const MAX_START_MS = 600_000

/** What stays the same however often a Docker MCP Gateway is started. */
export interface DockerLaunch {
  /** By which its streaming transport knows us. */
  readonly token: string
  /** What must not be shown, whoever says it. */
  readonly secrets: readonly string[]
  readonly startTimeoutMs: number
  readonly createTransport: (run: DockerRun) => Transport
}

export function prepareDockerLaunch(config: DockerGatewayConfig, environment: Environment): DockerLaunch {
  const given = { ...pickEnvironment(environment), ...config.env }
  const token = given.MCP_GATEWAY_AUTH_TOKEN || randomBytes(32).toString('hex')
  const env = config.transport === 'stdio' ? given : { ...given, MCP_GATEWAY_AUTH_TOKEN: token }
  const launched = { ...config, env }
  const startTimeoutMs = Math.max(MAX_START_MS, config.timeouts.startup)
  return {
    token,
    secrets: listSecretForms([...collectSecrets(config), token]),
    startTimeoutMs,
    createTransport: (run) =>
      config.transport === 'stdio'
        ? new StdioTransport({ ...run, config: launched, explain: explainDockerFailure })
        : new StreamingTransport({ ...run, config: launched, token, startTimeoutMs }),
  }
}

function pickEnvironment(environment: Environment): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of DOCKER_ENVIRONMENT) {
    const value = environment[name]
    if (value !== undefined) picked[name] = value
  }
  return picked
}
