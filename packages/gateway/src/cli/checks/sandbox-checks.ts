import { DEFAULT_SETTINGS, type Environment, type ServerConfig } from '../../config/config.ts'
import { createBubblewrapDriver, openCgroup } from '../../sandbox/sandbox.ts'
import { type Check, ok, warning, wrong } from './check.ts'

/** Tries bubblewrap, as the gateway does before the first server. Engines of containers are not tried. */
export async function checkSandboxDrivers(environment: Environment): Promise<readonly Check[]> {
  const driver = createBubblewrapDriver({ environment })
  const result = await driver.probe()
  const name = `sandbox ${driver.name}`
  if (!result.ok) return [wrong(name, `${result.reason}.`, result.fix)]
  return [(await canLimitTogether()) ? ok(name, 'Programs can be isolated') : warning(name, ...LIMITS_EACH)]
}

const LIMITS_EACH = [
  'Programs can be isolated, but memory is limited for each process only, not for all of a sandbox together: this user can create no control groups.',
  'Start the gateway as a service of systemd, or see docs/sandbox.md, "Rights and limits".',
] as const

async function canLimitTogether(): Promise<boolean> {
  const group = openCgroup(`sallyport-check-${process.pid}`, DEFAULT_SETTINGS.sandbox.limits)
  await group?.remove()
  return group !== undefined
}

/** Whether a server would not start without a sandbox, of whichever driver. */
export const needsSandbox = (servers: readonly ServerConfig[]): boolean =>
  servers.some((server) => server.enabled && server.kind === 'stdio' && server.sandbox !== undefined)
