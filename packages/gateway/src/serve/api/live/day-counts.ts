import { z } from '@hono/zod-openapi'
import type { EventCount } from '../../../store/store.ts'

/** Those with most calls are shown; the others are one. */
const MAX_NAMES = 5
const OTHERS = '(others)'

const countFields = {
  calls: z.number().int(),
  failed: z.number().int(),
  refused: z.number().int(),
  approvalsRequested: z.number().int(),
  labelsRaised: z.number().int(),
}

const countsSchema = z.object(countFields)
const namedCallsSchema = z.array(z.object({ name: z.string(), calls: z.number().int() }))

export const dayCountsSchema = z.object({
  counts: countsSchema,
  hours: z
    .array(z.object({ time: z.iso.datetime(), ...countFields }))
    .openapi({ description: 'Hours of UTC with records, oldest first.' }),
  flow: z
    .object({ agents: namedCallsSchema, servers: namedCallsSchema })
    .openapi({ description: 'Who called, refused calls included, and which servers were called; most calls first.' }),
})

type Counts = z.infer<typeof countsSchema>
export type DayCounts = z.infer<typeof dayCountsSchema>

const COUNTED: Readonly<Record<string, keyof Counts>> = {
  TOOL_CALL_STARTED: 'calls',
  TOOL_CALL_FAILED: 'failed',
  POLICY_DENIED: 'refused',
  APPROVAL_REQUESTED: 'approvalsRequested',
  SENSITIVITY_RAISED: 'labelsRaised',
}
const NO_COUNTS: Counts = { calls: 0, failed: 0, refused: 0, approvalsRequested: 0, labelsRaised: 0 }

/** The sums of what the store counted, for the page that is seen first. */
export function sumCounts(rows: readonly EventCount[]): DayCounts {
  const counts = { ...NO_COUNTS }
  const hours = new Map<number, Counts>()
  const [agents, servers] = [new Map<string, number>(), new Map<string, number>()]
  for (const { type, agent, server, hour, count } of rows) {
    const name = Object.hasOwn(COUNTED, type) ? COUNTED[type] : undefined
    if (name === undefined) continue
    const sums = hours.get(hour) ?? { ...NO_COUNTS }
    hours.set(hour, sums)
    for (const sum of [counts, sums]) sum[name] += count
    if (name === 'calls' || name === 'refused') add(agents, agent, count)
    if (name === 'calls') add(servers, server, count)
  }
  return {
    counts,
    hours: [...hours]
      .sort(([a], [b]) => a - b)
      .map(([time, sums]) => ({ time: new Date(time).toISOString(), ...sums })),
    flow: { agents: listLargest(agents), servers: listLargest(servers) },
  }
}

function add(sums: Map<string, number>, name: string, count: number): void {
  sums.set(name, (sums.get(name) ?? 0) + count)
}

function listLargest(sums: ReadonlyMap<string, number>): { name: string; calls: number }[] {
  const all = [...sums].map(([name, calls]) => ({ name, calls })).sort((a, b) => b.calls - a.calls)
  if (all.length <= MAX_NAMES) return all
  const rest = all.splice(MAX_NAMES - 1)
  return [...all, { name: OTHERS, calls: rest.reduce((sum, { calls }) => sum + calls, 0) }]
}
