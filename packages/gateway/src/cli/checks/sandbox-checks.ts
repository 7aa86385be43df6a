import type { Environment, ServerConfig } from '../../config/config.ts'
import { createBubblewrapDriver } from '../../sandbox/sandbox.ts'
import { type Check, ok, wrong } from './check.ts'

/** Tries each way of isolating programs, as the gateway does before the first server. */
export async function checkSandboxDrivers(environment: Environment): Promise<readonly Check[]> {
  const driver = createBubblewrapDriver({ environment })
  const result = await driver.probe()
  const name = `sandbox ${driver.name}`
  return [result.ok ? ok(name, 'Programs can be isolated') : wrong(name, `${result.reason}.`, result.fix)]
}

/** Whether a server would not start without a sandbox. */
export const needsSandbox = (servers: readonly ServerConfig[]): boolean =>
  servers.some((server) => server.enabled && server.kind === 'stdio' && server.sandbox !== undefined)
