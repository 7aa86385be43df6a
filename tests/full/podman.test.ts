import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { installPackages } from '../harness/debian-packages.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { describeNetworkModes, type Reach } from '../sandbox/network-table.ts'
import { canBuildNetworks, makeUserFolder, type User } from '../sandbox/sandbox-world.ts'

/** Installed on Debian, since its engine needs no daemon; elsewhere this is left out, and says so. */
function canRunPodman(): boolean {
  if (!canBuildNetworks()) return false
  const isInstalled = (): boolean =>
    ['podman', 'runc'].every((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0)
  if (!isInstalled()) installPackages(['podman', 'runc'])
  if (isInstalled()) return true
  if (process.env.CI) throw new Error('Podman cannot be tested: install podman and runc.')
  console.warn('Podman is not tested: install podman and runc.')
  return false
}

const AVAILABLE = canRunPodman()
const FIXTURE = join(REPOSITORY, 'tests/fixtures/run-in-container.mjs')

describe.skipIf(!AVAILABLE)(`podman (${promise('SEN-11')})`, () => {
  const folder = makeUserFolder('root')
  const storage = join(folder.path, 'storage')
  mkdirSync(storage)
  const write = (name: string, lines: readonly string[]): string => {
    const path = join(folder.path, name)
    writeFileSync(path, lines.join('\n'))
    return path
  }
  // Without rights to raise limits, and with control groups of both versions, its defaults fail.
  const env = {
    CONTAINERS_CONF: write('containers.conf', [
      ...['[containers]', 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'],
      ...['[engine]', 'runtime = "runc"'],
    ]),
    CONTAINERS_STORAGE_CONF: write('storage.conf', [
      ...['[storage]', 'driver = "overlay"'],
      ...[`graphroot = "${join(storage, 'data')}"`, `runroot = "${join(storage, 'run')}"`],
    ]),
  }
  const podman = (...args: readonly string[]): string =>
    spawnSync('podman', args, { env: { ...process.env, ...env }, encoding: 'utf8' }).stdout

  afterAll(() => {
    expect(podman('ps', '--all', '--quiet')).toBe('')
    podman('system', 'reset', '--force')
    spawnSync('umount', ['--lazy', join(storage, 'data/overlay')])
    folder.remove()
  })

  describeNetworkModes('a program of this machine in a container', {
    start: () => ({ user: 'root' as User, folder: folder.path, env }),
    wrap: (reach: Reach, command) => {
      const options = JSON.stringify({ engine: 'podman', state: folder.path, ...reach })
      return [process.execPath, FIXTURE, options, ...command]
    },
    explains: false,
  })
})
