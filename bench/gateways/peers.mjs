import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Pinned, since a measurement belongs to a version. */
const VERSIONS = { 'mcp-proxy': '6.7.19', supergateway: '4.0.0' }
const CACHE = process.env.SALLYPORT_BENCH_CACHE ?? join(homedir(), '.cache', 'sallyport-bench')

const folderOf = (name) => join(CACHE, `${name}-${VERSIONS[name]}`)

export const peerProgram = (name) => join(folderOf(name), 'node_modules', '.bin', name)

/** The gateways with the peers among them installed; one that cannot be installed is left out, and the others are measured. */
export function withPeers(gateways, say) {
  return gateways.flatMap((gateway) => {
    if (gateway.kind !== 'peer') return [gateway]
    try {
      install(gateway.name)
      return [{ ...gateway, version: VERSIONS[gateway.name] }]
    } catch (error) {
      say(`  ! ${gateway.name} cannot be installed and is left out: ${error.message}`)
      return []
    }
  })
}

/** Outside the repository, once. */
function install(name) {
  if (existsSync(peerProgram(name))) return
  const folder = folderOf(name)
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel', 'error']
  execFileSync('npm', [...args, `${name}@${VERSIONS[name]}`], { stdio: ['ignore', 'ignore', 'pipe'] })
}
