// How long it takes to decide about a call, in a gateway that does nothing else.
//   node decisions.mjs FOLDER CALLS   prints {case: {p50, p99}} in microseconds
import { Cancellation } from '../../packages/core/dist/index.js'
import { standingPrincipal } from '../../packages/gateway/dist/sessions/sessions.js'
import { percentile } from '../report/figures.mjs'
import { openGoverned, toolOf } from './open-governed.mjs'

const [folder, calls] = process.argv.slice(2)
const WARM_CALLS = 20_000

/** By paths, which are looked up on disk, and by patterns. */
const RULES = `
    allowed_paths: ["${folder}/**"]
    forbidden_paths: ["**/.git/**", "~/.ssh/**"]
    arguments:
      text: {pattern: "^[a-z/]+$", maxLength: 200}
      size: {min: 1, max: 1000}
      deny_patterns: ["rm -rf"]`
const TOOLS = `tools:
  mcp__up1__fill_*:
    risk_level: low
  mcp__up1__echo:${RULES}
`

const FILTER = { field: 'name', op: 'like', value: 'a%' }
const CASES = {
  'a plain tool': { tool: 'blob', args: { size: 1_000 } },
  'path and argument rules': { tool: 'echo', args: { text: 'a/branch', size: 10, path: `${folder}/home/notes.txt` } },
  'a nested schema': { tool: 'fill_00002', args: { text: 'rows', size: 10, filter: FILTER, limit: 50 } },
}

async function measure(gateway, { tool, args }) {
  const call = {
    id: 'bench',
    traceId: '0'.repeat(32),
    principal: standingPrincipal('agent'),
    method: 'tools/call',
    offer: toolOf(gateway, tool),
    params: { name: tool, arguments: args },
    cancellation: new Cancellation(),
  }
  for (let done = 0; done < WARM_CALLS; done++) await decide(gateway, call)
  const times = new Float64Array(Number(calls))
  for (let done = 0; done < times.length; done++) {
    const from = performance.now()
    await decide(gateway, call)
    times[done] = (performance.now() - from) * 1_000
  }
  times.sort()
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

/** A refused call would be decided sooner, and look fast. */
async function decide(gateway, call) {
  const { outcome, decisive } = await gateway.pipeline.decide(call)
  if (outcome !== 'allow') throw new Error(`${call.params.name} is not allowed: ${decisive?.verdict.reason}`)
}

const gateway = await openGoverned(folder, { toolCount: 10, tools: TOOLS })
const found = {}
for (const [name, one] of Object.entries(CASES)) found[name] = await measure(gateway, one)
console.log(JSON.stringify(found))
await gateway.close('the bench is done')
