import { parentPort } from 'node:worker_threads'
import { formatViolations, messageOf } from '@sallyport/core'
import { type CompiledSchema, compilePartially, compileSchema } from './ajv-schema.ts'
import { CheckCache } from './check-cache.ts'
import { type CheckJob, COMPILED, type JobOutcome, READY } from './job.ts'

/** The worker thread that runs schemas and patterns of servers. It handles one job at a time and may be terminated at any moment. */
const cache = new CheckCache()
// Compile the meta-schema now, so that no job has to wait for it.
compileSchema({})
parentPort?.on('message', (job: CheckJob) => parentPort?.postMessage(runJob(job)))
parentPort?.postMessage(READY)

function runJob(job: CheckJob): JobOutcome {
  const known = cache.get(job.digest) ?? compile(job)
  if (job.value === undefined) return known.problem === undefined ? { kind: 'fits' } : unusable(known)
  if (known.check === undefined) return unusable(known)
  try {
    const violations = known.check(JSON.parse(job.value))
    if (violations !== undefined) return { kind: 'violated', message: formatViolations(violations) }
    return known.problem === undefined ? { kind: 'fits' } : unusable(known)
  } catch (error) {
    // The schema refers to itself without end, or the value is nested too deeply.
    return { kind: 'excess', why: messageOf(error) }
  }
}

const unusable = ({ check, problem = '' }: CompiledSchema): JobOutcome => ({
  ...{ kind: 'unusable', why: problem },
  ...(check === undefined && { final: true }),
})

function compile({ digest, schema }: CheckJob): CompiledSchema {
  const compiled = compilePartially(JSON.parse(schema))
  cache.set(digest, compiled, schema.length)
  parentPort?.postMessage(COMPILED)
  return compiled
}
