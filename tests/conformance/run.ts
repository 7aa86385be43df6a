/**
 * Runs the conformance suite through the gateway, compares each check with the same one without the gateway, and
 * fails on a loss that has no good reason.
 *
 *   node run.js [word …]   only the legs whose names contain all of these words: `stdio bridged`
 */
import { availableParallelism } from 'node:os'
import { type Check, type Comparison, compareChecks, failedAlone } from './check.ts'
import { excuseOf, staleLosses } from './known-losses.ts'
import { LEGS, type Leg, nameOf } from './leg.ts'
import { createReport } from './report.ts'
import { runAlone, runThrough } from './run-leg.ts'
import { requiredScenarios } from './suite.ts'

/** Legs wait most of their time. */
const LANES = 2 * availableParallelism()

const words = process.argv.slice(2)
const legs = LEGS.filter((leg) => words.every((word) => nameOf(leg).split(' ').includes(word)))
const waiting = [...legs]
const references = new Map<string, Promise<readonly Check[]>>()
const compared = new Map<string, Comparison>()
const broken: string[] = []

await Promise.all(Array.from({ length: LANES }, workThrough))
// Some checks of the suite wait 600 ms: on a busy machine that is not enough. So a loss has to occur again when nothing
// else runs.
for (const leg of legs.filter((one) => hasBadLoss(nameOf(one)))) {
  process.stderr.write(`${nameOf(leg)}, once more …\n`)
  await runLeg(leg).catch((error: Error) => broken.push(`${nameOf(leg)}: ${error.message}`))
}
const results = new Map(legs.map(nameOf).flatMap((name) => entryOf(name)))
const lost = new Map([...results].map(([name, { losses }]) => [name, losses]))
const alone = await Promise.all(
  [...references].map(async ([name, checks]) => [name, await checks.catch(() => [])] as const),
)
const report = createReport({
  results,
  // A run of some legs cannot check entries for the others.
  stale: legs.length === LEGS.length ? staleLosses(lost) : [],
  failed: alone.flatMap(([name, checks]) =>
    failedAlone(checks)
      .filter((check) => !isNotOffered(name, check))
      .map((check) => ({ name, check })),
  ),
  broken,
})
process.stdout.write(`${report.text}\n`)
process.exitCode = report.isClean ? 0 : 1

async function workThrough(): Promise<void> {
  for (let leg = waiting.shift(); leg; leg = waiting.shift()) {
    const name = nameOf(leg)
    process.stderr.write(`${name} …\n`)
    // A leg that fails must not end this process: nobody would stop the servers of the others.
    await runLeg(leg).catch((error: Error) => broken.push(`${name}: ${error.message}`))
  }
}

async function runLeg(leg: Leg): Promise<void> {
  const [reference, through] = await Promise.allSettled([referenceOf(leg), runThrough(leg)])
  if (reference.status === 'rejected') throw reference.reason
  if (through.status === 'rejected') throw through.reason
  const required = requiredScenarios(leg.revision, leg.side)
  compared.set(
    nameOf(leg),
    compareChecks(reference.value, through.value, (scenario) => required.has(scenario)),
  )
}

/** The same for all legs of a server or client and a revision. */
function referenceOf(leg: Leg): Promise<readonly Check[]> {
  const name = [leg.revision, leg.side, ...(leg.side === 'server' ? [leg.fixture] : [])].join(' ')
  const reference = references.get(name) ?? runAlone(leg)
  references.set(name, reference)
  return reference
}

function hasBadLoss(name: string): boolean {
  return compared.get(name)?.losses.some((loss) => excuseOf(name, loss) === undefined) ?? false
}

/** The SDK has no tasks of the extension. */
function isNotOffered(name: string, { scenario }: Check): boolean {
  return name.endsWith(' sdk') && scenario.startsWith('tasks-')
}

function entryOf(name: string): readonly [string, Comparison][] {
  const comparison = compared.get(name)
  return comparison ? [[name, comparison]] : []
}
