import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Pinned, since a figure belongs to a version. */
const PEERS = { 'mcp-proxy': '6.7.19', supergateway: '4.0.0' }
const CACHE = process.env.SALLYPORT_BENCH_CACHE ?? join(homedir(), '.cache', 'sallyport-bench')

const folderOf = (name) => join(CACHE, `${name}-${PEERS[name]}`)

export const peerVersion = (name) => PEERS[name]

export const peerProgram = (name) => join(folderOf(name), 'node_modules', '.bin', name)

/** Installs a peer outside the tree, once. Throws where that cannot be done. */
export function installPeer(name) {
  if (existsSync(peerProgram(name))) return
  const folder = folderOf(name)
  mkdirSync(folder, { recursive: true })
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel', 'error']
  execFileSync('npm', [...install, `${name}@${PEERS[name]}`], { stdio: ['ignore', 'ignore', 'pipe'] })
}
