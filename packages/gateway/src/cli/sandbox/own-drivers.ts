import { randomBytes } from 'node:crypto'
import {
  createBubblewrapDriver,
  createContainerDrivers,
  pickEngineEnvironment,
  type SandboxDrivers,
} from '../../sandbox/sandbox.ts'
import { createMark, openWatchdog, type Watchdog } from '../../upstream/upstream.ts'
import type { CliContext } from '../cli-context.ts'

/** The drivers of a command that is not a gateway. */
export interface OwnDrivers {
  readonly drivers: SandboxDrivers
  /** All sandboxes must be closed before. */
  close(): Promise<void>
}

/** If this command is killed, a watchdog removes its containers. */
export function openOwnDrivers(environment: CliContext['environment']): OwnDrivers {
  const run = createMark(randomBytes(16).toString('hex'))
  let watchdog: Watchdog | undefined
  const onFirstUse = (program: string): void => {
    watchdog ??= openWatchdog({ runMark: run, environment, engineEnvironment: pickEngineEnvironment(environment) })
    watchdog.watchContainers(program)
  }
  // No gateway has this name as that of its state, so none removes them.
  const owner = () => ({ state: run, run, process: String(process.pid) })
  return {
    drivers: {
      bubblewrap: createBubblewrapDriver({ environment }),
      ...createContainerDrivers({ environment, owner, onFirstUse }),
    },
    close: async () => watchdog?.close(),
  }
}
