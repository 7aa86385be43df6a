import { tmpdir } from 'node:os'
import { openWorld } from './gateways/bench-world.mjs'
import { GATEWAYS } from './gateways/gateways.mjs'
import { readOptions, USAGE } from './options.mjs'
import { profileFile, profileGateway } from './profile.mjs'
import { callTable } from './report/call-table.mjs'
import { createRun } from './run.mjs'
import { runCalls } from './suites/call.mjs'
import { closeLanes, openLanes } from './suites/lanes.mjs'

const say = (text) => process.stderr.write(`${text}\n`)
const options = readOptions(process.argv.slice(2), GATEWAYS)

async function profile() {
  const gateway = GATEWAYS.find(({ name }) => name === options.profile)
  if (gateway === undefined) throw new Error(`--profile names "${options.profile}", which is no gateway.`)
  console.log(
    await profileGateway(await openWorld(), gateway, {
      era: options.era,
      callers: Number(options.callers),
      size: Number(options.size),
      seconds: Number(options.seconds),
      file: profileFile(tmpdir(), gateway.name),
    }),
  )
}

async function bench() {
  const run = createRun({ ...options, world: await openWorld(), say })
  const lanes = await openLanes(run)
  await runCalls(run, lanes)
  await closeLanes(lanes)
  for (const era of run.plan.eras) console.log(callTable(run, era))
}

if (options.help) console.log(USAGE)
else await (options.profile === undefined ? bench() : profile())
process.exit()
