import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { closeWorld, openWorld } from './gateways/bench-world.mjs'
import { GATEWAYS } from './gateways/gateways.mjs'
import { withPeers } from './gateways/peers.mjs'
import { readOptions, USAGE } from './options.mjs'
import { profileFile, profileGateway } from './profile.mjs'
import { printPage } from './report/page.mjs'
import { finishRun, printRun, startRun } from './run.mjs'
import { runSuites } from './suites/suites.mjs'

const PAGE = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url))
const DATA = fileURLToPath(new URL('../docs/benchmarks.json', import.meta.url))
const say = (text) => process.stderr.write(`${text}\n`)

/** Cleans up, however the process ends. */
async function enterWorld() {
  const world = await openWorld()
  process.once('exit', () => closeWorld(world))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  return world
}

async function profile({ profile: name, load }) {
  const gateways = GATEWAYS.filter((known) => known.name === name && known.kind !== 'direct')
  const [gateway] = withPeers(gateways, say)
  if (gateway === undefined) throw new Error(`--profile names "${name}", which is no gateway that can be started here.`)
  const era = gateway.eras.includes(load.era) ? load.era : gateway.eras[0]
  console.log(await profileGateway(await enterWorld(), gateway, { ...load, era, file: profileFile(tmpdir(), name) }))
}

async function measure({ gateways, plan, suites }) {
  const run = startRun({ world: await enterWorld(), gateways: withPeers(gateways, say), plan, say })
  await runSuites(run, suites)
  return finishRun(run)
}

function publish(run, { out, write }) {
  // If something failed, numbers are missing: the exit code says so.
  process.exitCode = run.failures.length === 0 ? 0 : 1
  const page = printPage(run)
  console.log(page)
  if (out !== undefined) writeFileSync(out, printRun(run))
  if (!write) return
  writeFileSync(PAGE, page)
  writeFileSync(DATA, printRun(run))
}

async function run() {
  const options = readOptions(process.argv.slice(2), GATEWAYS)
  if (options.help) return console.log(USAGE)
  if (options.profile !== undefined) return profile(options)
  if (options.from !== undefined) return publish(JSON.parse(readFileSync(options.from, 'utf8')), options)
  return publish(await measure(options), options)
}

try {
  await run()
} catch (error) {
  say(error.message)
  process.exitCode = 1
}
process.exit()
