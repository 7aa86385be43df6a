import { parentPort } from 'node:worker_threads'
import { messageOf, violationsText } from '@sallyport/core'
import { type CompiledSchema, compileSchema, compileWhatCanBe } from './ajv-schema.ts'
import { COMPILED, type Job, type Outcome, READY } from './job.ts'
import { KeptChecks } from './kept-checks.ts'

/** The program of the thread in which foreign schemas and patterns run: it answers one job after the other, or is ended. */
const kept = new KeptChecks()
// The rules for schemas are compiled now, so that no job pays for it.
compileSchema({})
parentPort?.on('message', (job: Job) => parentPort?.postMessage(answer(job)))
parentPort?.postMessage(READY)

function answer(job: Job): Outcome {
  const known = kept.get(job.digest) ?? compile(job)
  if (job.value === undefined) return known.flaw === undefined ? { kind: 'fits' } : unusable(known)
  if (known.check === undefined) return unusable(known)
  try {
    const violations = known.check(JSON.parse(job.value))
    if (violations !== undefined) return { kind: 'violated', says: violationsText(violations) }
    return known.flaw === undefined ? { kind: 'fits' } : unusable(known)
  } catch (error) {
    // A schema that leads to itself, or a value as deep as that.
    return { kind: 'excess', why: messageOf(error) }
  }
}

const unusable = ({ check, flaw = '' }: CompiledSchema): Outcome => ({
  ...{ kind: 'unusable', why: flaw },
  ...(check === undefined && { final: true }),
})

function compile({ digest, schema }: Job): CompiledSchema {
  const compiled = compileWhatCanBe(JSON.parse(schema))
  kept.keep(digest, compiled, schema.length)
  parentPort?.postMessage(COMPILED)
  return compiled
}
