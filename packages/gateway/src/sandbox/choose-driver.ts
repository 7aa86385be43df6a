import { SallyportError } from '@sallyport/core'
import type { ContainerSpec } from './drivers/containers/container-driver.ts'
import type { ProbeResult, SandboxDriver } from './drivers/driver.ts'

/** All ways of isolating a program, in the order in which `auto` tries them. */
export interface SandboxDrivers {
  readonly bubblewrap: SandboxDriver
  readonly docker: SandboxDriver<ContainerSpec>
  readonly podman: SandboxDriver<ContainerSpec>
}

export type DriverChoice = 'auto' | keyof SandboxDrivers

/** What is run: a program of this machine, or an image. */
export type SandboxContent = 'program' | 'image'

type Failure = Extract<ProbeResult, { ok: false }> & { readonly name: string }

/** The names of the drivers that are tried, in this order. */
export function listCandidates(wanted: DriverChoice, content: SandboxContent): readonly (keyof SandboxDrivers)[] {
  if (wanted !== 'auto') return [wanted]
  return content === 'program' ? ['bubblewrap', 'docker', 'podman'] : ['docker', 'podman']
}

/** For a program of this machine. */
export function chooseDriver(drivers: SandboxDrivers, wanted: DriverChoice): Promise<SandboxDriver> {
  return chooseFirst<SandboxDriver>(listCandidates(wanted, 'program').map((name) => drivers[name]))
}

/** For an image. */
export function chooseEngine(drivers: SandboxDrivers, wanted: DriverChoice): Promise<SandboxDriver<ContainerSpec>> {
  const engines = listCandidates(wanted, 'image').map((name) => {
    if (name !== 'bubblewrap') return drivers[name]
    throw new SallyportError('INTERNAL', 'An image was to be run with bubblewrap, which only runs programs.')
  })
  return chooseFirst<SandboxDriver<ContainerSpec>>(engines)
}

/** Tries one after the other. Rejects with what all of them said if none works: nothing ever runs without a sandbox. */
async function chooseFirst<Driver extends Pick<SandboxDriver, 'name' | 'probe'>>(
  candidates: readonly Driver[],
): Promise<Driver> {
  const failures: Failure[] = []
  for (const driver of candidates) {
    const result = await driver.probe()
    if (result.ok) return driver
    failures.push({ ...result, name: driver.name })
  }
  const reasons = failures.map(({ reason }) => reason).join('; ')
  const fixes = failures.map(({ name, fix }) => (failures.length === 1 ? fix : `For ${name}: ${fix}`))
  throw new SallyportError('SANDBOX_UNAVAILABLE', `Programs cannot be isolated here: ${reasons}.`, {
    hint: fixes.join(' '),
  })
}
