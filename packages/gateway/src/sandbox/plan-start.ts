import { chooseDriver, chooseEngine } from './choose-driver.ts'
import { WORKSPACE } from './drivers/bubblewrap-arguments.ts'
import type { Mount, SandboxLimits } from './drivers/driver.ts'
import { planProgram } from './files/plan-program.ts'
import { findAllHidden } from './files/protected-folders.ts'
import { type OpenSandboxOptions, openSandbox, type Sandbox } from './open-sandbox.ts'
import { buildSandboxEnvironment } from './sandbox-environment.ts'
import type { SandboxesOptions } from './sandboxes.ts'
import type { SandboxedServer } from './server-sandbox.ts'

type PlanOptions = Pick<SandboxesOptions, 'drivers' | 'protection' | 'environment' | 'cwd'> & {
  readonly limits: SandboxLimits
  /** Instead of one of its own. */
  readonly hasHostNetwork?: boolean
}

/** What is run, for a server or for anybody else. */
type StartedProgram = Pick<
  SandboxedServer,
  'driver' | 'image' | 'command' | 'cwd' | 'env' | 'forwards' | 'limits' | 'onNote'
>

/** A sandbox that only needs its network to be opened. */
interface PlannedStart {
  readonly driver: string
  open(rest: Omit<OpenSandboxOptions<unknown>, 'driver' | 'spec'>): Promise<Sandbox>
}

/** Decides what a sandbox shows, and which driver makes it. */
export function planStart(
  options: PlanOptions,
  server: StartedProgram,
  mounts: readonly Mount[],
): Promise<PlannedStart> {
  return server.image === undefined
    ? planOwnProgram(options, server, mounts)
    : planImage(options, { ...server, image: server.image }, mounts)
}

async function planOwnProgram(
  { drivers, protection, environment, cwd: ownFolder, limits, hasHostNetwork = false }: PlanOptions,
  server: StartedProgram,
  mounts: readonly Mount[],
): Promise<PlannedStart> {
  const { command, cwd = ownFolder } = server
  const request = { command, cwd, environment: { ...environment, ...server.env }, mounts, protection }
  const { notes, ...plan } = planProgram(request)
  const driver = await chooseDriver(drivers, server.driver)
  for (const note of notes) server.onNote(note)
  if (server.cwd !== undefined && plan.cwd === WORKSPACE)
    server.onNote(`It starts in ${WORKSPACE}, since it cannot see its cwd ${cwd}: add that to mounts.`)
  const env = buildSandboxEnvironment(environment, server.env, hasHostNetwork ? 'host' : 'own')
  const spec = { ...plan, env, hasHostNetwork, forwards: server.forwards, limits: { ...limits, ...server.limits } }
  return { driver: driver.name, open: (rest) => openSandbox({ ...rest, driver, spec }) }
}

async function planImage(
  { drivers, protection, limits }: PlanOptions,
  { image, command, cwd, env, forwards, driver: wanted, limits: own }: StartedProgram & { readonly image: string },
  mounts: readonly Mount[],
): Promise<PlannedStart> {
  const driver = await chooseEngine(drivers, wanted)
  const [program, ...args] = command
  const spec = {
    ...{ image, args, cwd, entrypoint: program === '' ? undefined : program },
    // Nothing of this machine is meant for it: neither PATH nor language.
    env: buildSandboxEnvironment({}, env),
    ...{ mounts, hidden: findAllHidden(mounts, protection) },
    ...{ forwards, limits: { ...limits, ...own } },
  }
  return { driver: driver.name, open: (rest) => openSandbox({ ...rest, driver, spec }) }
}
