import { parentPort } from 'node:worker_threads'
import { messageOf, violationsText } from '@sallyport/core'
import { compileSchema, type FullCheck } from './ajv-schema.ts'
import { type Job, type Outcome, READY } from './job.ts'
import { KeptChecks } from './kept-checks.ts'

/** The program of the thread in which foreign schemas and patterns run: it answers one job after the other, or is ended. */
const kept = new KeptChecks()
// The rules for schemas are compiled now, so that no job pays for it.
compileSchema({})
parentPort?.on('message', (job: Job) => parentPort?.postMessage(answer(job)))
parentPort?.postMessage(READY)

function answer(job: Job): Outcome {
  try {
    const check = kept.get(job.digest) ?? compile(job)
    if (typeof check !== 'function') return check
    const violations = check(JSON.parse(job.value))
    return violations === undefined ? { kind: 'fits' } : { kind: 'violated', says: violationsText(violations) }
  } catch (error) {
    // A schema that leads to itself, or a value as deep as that.
    return { kind: 'excess', why: messageOf(error) }
  }
}

function compile({ digest, schema }: Job): FullCheck | Outcome {
  try {
    const check = compileSchema(JSON.parse(schema))
    kept.keep(digest, check, schema.length)
    return check
  } catch (error) {
    if (error instanceof RangeError) throw error
    return { kind: 'unusable', why: messageOf(error) }
  }
}
