import { spawnSync } from 'node:child_process'

const OPTIONS = { stdio: 'ignore', timeout: 100_000 } as const

/** Installs packages of Debian if the tests run as root. Other tests may be doing the same right now. */
export function installPackages(names: readonly string[]): void {
  if (process.getuid?.() !== 0) return
  const own = ['install', '-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=90', ...names]
  const install = (): boolean => spawnSync('apt-get', own, OPTIONS).status === 0
  // A new machine may have no list of packages yet.
  if (!install() && spawnSync('apt-get', ['update', '-qq'], OPTIONS).status === 0) install()
}
