/**
 * Runs the conformance suite through the gateway, compares each check with the same one without the gateway, and
 * fails on a loss that has no good reason.
 *
 *   node run.js [word …]   only the legs whose names hold all of these words: `stdio bridged`
 */
import { availableParallelism } from 'node:os'
import { type Check, type Comparison, compareChecks } from './check.ts'
import { staleLosses } from './known-losses.ts'
import { LEGS, type Leg, nameOf } from './leg.ts'
import { createReport } from './report.ts'
import { runAlone, runThrough } from './run-leg.ts'
import { type Revision, requiredScenarios } from './suite.ts'

/** Legs wait most of their time. */
const LANES = 2 * availableParallelism()

const words = process.argv.slice(2)
const legs = LEGS.filter((leg) => words.every((word) => nameOf(leg).split(' ').includes(word)))
const references = new Map<string, Promise<readonly Check[]>>()
const results = new Map<string, Comparison>()

const waiting = [...legs]
await Promise.all(Array.from({ length: LANES }, workThrough))
const inOrder = new Map(legs.map(nameOf).map((name) => [name, results.get(name) as Comparison]))
const lost = new Map([...inOrder].map(([name, { losses }]) => [name, losses]))
const report = createReport(inOrder, words.length === 0 ? staleLosses(lost) : [])
process.stdout.write(`${report.text}\n\nLeft out: scenarios of authorization, since servers behind get no OAuth yet.\n`)
process.exitCode = report.isClean ? 0 : 1

async function workThrough(): Promise<void> {
  for (let leg = waiting.shift(); leg; leg = waiting.shift()) {
    const name = nameOf(leg)
    process.stderr.write(`${name} …\n`)
    const [alone, through] = await Promise.all([referenceOf(leg.side, leg.revision), runThrough(leg)])
    const required = requiredScenarios(leg.revision, leg.side)
    results.set(
      name,
      compareChecks(alone, through, (scenario) => required.has(scenario)),
    )
  }
}

function referenceOf(side: Leg['side'], revision: Revision): Promise<readonly Check[]> {
  const key = `${side} ${revision}`
  const reference = references.get(key) ?? runAlone(side, revision)
  references.set(key, reference)
  return reference
}
