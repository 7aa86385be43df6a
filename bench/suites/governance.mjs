import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openInstance } from '../gateways/instance.mjs'
import { writtenTools } from '../gateways/written-tools.mjs'

const run = promisify(execFile)
const program = (name) => fileURLToPath(new URL(`../govern/${name}.mjs`, import.meta.url))
const OURS = { gateway: { name: 'ours', kind: 'ours' } }

/** What deciding, and naming the caller to a server, cost by themselves, and what it takes to write one more tool into a large tools.yaml. */
export async function runGovernance(bench) {
  await bench.attempt(OURS.gateway, 'governance', async () => {
    const many = await writeMany(bench)
    for (let round = 0; round < bench.plan.governRounds; round++) {
      bench.say(`governance: round ${round + 1} of ${bench.plan.governRounds}`)
      await measureDecisions(bench, round)
      await measureIdentities(bench, round)
      await measureAppends(bench, { round, many })
    }
  })
}

/** A tools.yaml as the gateway itself writes it. */
async function writeMany({ world, gateways, plan }) {
  const toolCount = Math.max(...plan.toolCounts)
  const instance = await openInstance(world, ourHttp(gateways), { toolCount })
  try {
    await instance.connect('modern')
    return await writtenTools(instance.folder, toolCount)
  } finally {
    await instance.close()
  }
}

function ourHttp(gateways) {
  const found = gateways.find(({ name }) => name === 'ours-http')
  if (found === undefined) throw new Error('it needs ours-http, which --only leaves out')
  return found
}

async function measureDecisions({ world, plan, record }, round) {
  const folder = mkdtempSync(join(world.folder, 'decisions-'))
  const { stdout } = await run(process.execPath, [program('decisions'), folder, String(plan.decisions)])
  for (const [name, figures] of Object.entries(JSON.parse(stdout)))
    record({ suite: 'governance', lane: OURS, case: name, round, ...figures })
}

/** What a token for the server and a label cost each call. */
async function measureIdentities({ world, plan, record }, round) {
  const folder = mkdtempSync(join(world.folder, 'identities-'))
  const counts = [plan.identityRounds, plan.identityCalls].map(String)
  const { stdout } = await run(process.execPath, [program('identities'), folder, ...counts])
  for (const [name, figures] of Object.entries(JSON.parse(stdout)))
    record({ suite: 'governance', lane: OURS, case: name, round, ...figures })
}

/** The first one of a process runs cold code, the others warm code. */
async function measureAppends({ world, plan, record }, { round, many }) {
  const file = join(mkdtempSync(join(world.folder, 'appends-')), 'tools.yaml')
  copyFileSync(many, file)
  const { stdout } = await run(process.execPath, [program('appends'), file, String(plan.appends)])
  const [first, ...later] = JSON.parse(stdout)
  const middle = later.sort((a, b) => a - b)[Math.floor(later.length / 2)]
  record({ suite: 'governance', lane: OURS, case: 'append', round, first, later: middle })
}
