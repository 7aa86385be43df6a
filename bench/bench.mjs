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

/** Leaves nothing behind, however we end. */
async function enterWorld() {
  const world = await openWorld()
  process.once('exit', () => closeWorld(world))
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
  return world
}

async function profile({ profile: name, era, callers, size, seconds }) {
  const gateway = GATEWAYS.find((known) => known.name === name)
  if (gateway === undefined) throw new Error(`--profile names "${name}", which is no gateway.`)
  const [ready] = withPeers([gateway], say)
  if (ready === undefined) return
  const load = { era, callers: Number(callers), size: Number(size), seconds: Number(seconds) }
  console.log(await profileGateway(await enterWorld(), ready, { ...load, file: profileFile(tmpdir(), name) }))
}

async function measure({ gateways, plan, suites }) {
  const run = startRun({ world: await enterWorld(), gateways: withPeers(gateways, say), plan, say })
  await runSuites(run, suites)
  return finishRun(run)
}

function publish(run, { out, write }) {
  const page = printPage(run)
  console.log(page)
  if (out !== undefined) writeFileSync(out, printRun(run))
  if (!write) return
  writeFileSync(PAGE, page)
  writeFileSync(DATA, printRun(run))
}

const options = readOptions(process.argv.slice(2), GATEWAYS)
if (options.help) console.log(USAGE)
else if (options.profile !== undefined) await profile(options)
else if (options.from !== undefined) publish(JSON.parse(readFileSync(options.from, 'utf8')), options)
else publish(await measure(options), options)
process.exit()
