import { describe, expect, it } from 'vitest'
import { chooseDriver, chooseEngine, type SandboxDrivers } from './choose-driver.ts'
import type { ProbeResult } from './drivers/driver.ts'

/** Drivers of which only some work, and what was probed. */
function createDrivers(working: readonly string[]) {
  const probed: string[] = []
  const driverOf = (name: string) => ({
    name,
    probe: async (): Promise<ProbeResult> => {
      probed.push(name)
      return working.includes(name) ? { ok: true } : { ok: false, reason: `no ${name}`, fix: `Install ${name}.` }
    },
    prepare: () => Promise.reject(new Error('nothing is prepared')),
  })
  const drivers: SandboxDrivers = {
    bubblewrap: driverOf('bubblewrap'),
    docker: driverOf('docker'),
    podman: driverOf('podman'),
  }
  return { drivers, probed }
}

describe('a driver', () => {
  it('is with `auto` the first that works, and the others are not tried', async () => {
    const { drivers, probed } = createDrivers(['docker', 'podman'])
    expect((await chooseDriver(drivers, 'auto')).name).toBe('docker')
    expect(probed).toEqual(['bubblewrap', 'docker'])
  })

  it('is the one that was asked for, even if another one works', async () => {
    const { drivers, probed } = createDrivers(['bubblewrap', 'docker'])
    await expect(chooseDriver(drivers, 'podman')).rejects.toMatchObject({
      ...{
        code: 'SANDBOX_UNAVAILABLE',
        message: 'Programs cannot be isolated here: no podman.',
        hint: 'Install podman.',
      },
    })
    expect(probed).toEqual(['podman'])
  })

  it('of an image is never bubblewrap', async () => {
    const { drivers, probed } = createDrivers(['bubblewrap'])
    await expect(chooseEngine(drivers, 'auto')).rejects.toMatchObject({
      message: 'Programs cannot be isolated here: no docker; no podman.',
      hint: 'For docker: Install docker. For podman: Install podman.',
    })
    expect(probed).toEqual(['docker', 'podman'])
    expect(() => chooseEngine(drivers, 'bubblewrap')).toThrow('only runs programs')
  })
})
