import { createRoute, z } from '@hono/zod-openapi'
import { BUILT_IN_SERVER, canonicalName, type LoggedEvent } from '@sallyport/core'
import { profileKey } from '../../../config/config.ts'
import { READ_RESULT } from '../../../upstream/upstream.ts'
import type { AdminContext } from '../../admin/admin-context.ts'
import { strictInput } from '../invalid-input.ts'
import { countSelectionTokens } from '../profiles.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from '../routes.ts'

/** Those with the largest savings; the others are one row. */
const MAX_ROWS = 100
const OTHERS_ROW = '(others)'
const BYTES_PER_TOKEN = 4
/** More sessions are not counted: the sum is a lower bound anyway. */
const MAX_TURNS = 200_000

const amountFields = {
  shaped: z.number().int().openapi({ description: 'Tokens of results that were shortened by rules.' }),
  isolated: z.number().int().openapi({ description: 'Tokens of results that another model read for the agent.' }),
  selected: z.number().int().openapi({
    description:
      'Tokens of definitions that the selection of the profile leaves out, once for each session and hour with a call.',
  }),
  reached: z.number().int().openapi({ description: 'Tokens of results that agents got.' }),
}

const historySchema = z
  .object({
    since: z.iso.datetime(),
    counted: z.iso.datetime().openapi({ description: 'With many records, it is counted again only after a while.' }),
    total: z.object({
      ...amountFields,
      calls: z.number().int(),
      shortened: z.number().int().openapi({ description: 'Calls whose result was shaped or isolated.' }),
      readBack: z.number().int().openapi({ description: 'Of `reached`: tokens of results that were read later.' }),
      spent: z.number().int().openapi({ description: 'Tokens that the models of isolated calls read and wrote.' }),
    }),
    hours: z
      .array(z.object({ time: z.iso.datetime(), ...amountFields }))
      .openapi({ description: 'Hours of UTC with calls, oldest first.' }),
    tools: z
      .array(
        z.object({
          name: z.string(),
          calls: z.number().int(),
          shortened: z.number().int(),
          shaped: amountFields.shaped,
          isolated: amountFields.isolated,
        }),
      )
      .openapi({ description: 'Tools with a shortened result, largest savings first.' }),
    profiles: z
      .array(
        z.object({
          agent: z.string(),
          profile: z.string(),
          calls: z.number().int(),
          ...amountFields,
          definitions: z
            .object({ selected: z.number().int(), available: z.number().int() })
            .optional()
            .openapi({ description: 'Tokens in every turn, as selected now; missing if the profile was deleted.' }),
          selectedSince: z.iso
            .datetime()
            .optional()
            .openapi({ description: 'Before this change of the profile, `selected` is not counted.' }),
        }),
      )
      .openapi({ description: 'Profiles with calls, largest savings first.' }),
  })
  .openapi('SavingsHistory', { description: 'Tokens are estimates: of results, four bytes are one token.' })

export type SavingsHistory = z.infer<typeof historySchema>
type Hour = SavingsHistory['hours'][number]
type ToolRow = SavingsHistory['tools'][number]
type ProfileRow = SavingsHistory['profiles'][number]
type EndEvent = Extract<LoggedEvent, { type: 'TOOL_CALL_COMPLETED' | 'TOOL_CALL_FAILED' }>
type ProfilesEvent = Extract<LoggedEvent, { type: 'PROFILES_CHANGED' }>

const showHistory = createRoute({
  method: 'get',
  path: '/savings/history',
  summary:
    'How many tokens were kept out of agents’ contexts over time, and by what, according to the retained records',
  request: {
    query: strictInput({
      since: z.iso.datetime({ offset: true }).optional().openapi({ description: 'Two weeks ago if missing.' }),
    }),
  },
  responses: { 200: jsonResponse(historySchema, 'By hour, by tool and by profile.'), ...PROBLEM_RESPONSES },
})

const TWO_WEEKS_MS = 14 * 86_400_000
/** A page may ask every few seconds: at most this part of the time is spent on it. */
const MAX_SHARE = 0.05
const MAX_RECENT = 8

interface RecentHistory {
  readonly history: SavingsHistory
  /** By a monotonic clock. */
  readonly validUntil: number
}

export const savingsHistoryRoutes = (context: AdminContext) => {
  const recent = new Map<string, RecentHistory>()
  return createRoutes().openapi(showHistory, async (c) => {
    const { since } = c.req.valid('query')
    const known = recent.get(since ?? '')
    const start = performance.now()
    if (known !== undefined && start < known.validUntil) return c.json(known.history, 200)
    const from = since === undefined ? new Date(Date.now() - TWO_WEEKS_MS) : new Date(since)
    const history = await readHistory(context, from, c.req.raw.signal)
    const end = performance.now()
    recent.delete(since ?? '')
    recent.set(since ?? '', { history, validUntil: end + (end - start) / MAX_SHARE })
    const [oldest] = recent.keys()
    if (recent.size > MAX_RECENT && oldest !== undefined) recent.delete(oldest)
    return c.json(history, 200)
  })
}

async function readHistory(context: AdminContext, since: Date, signal: AbortSignal): Promise<SavingsHistory> {
  const { store } = context
  const changes = (await store.find({ types: ['PROFILES_CHANGED'], since })) as readonly ProfilesEvent[]
  const changed = new Map(changes.flatMap(({ profiles, time }) => profiles.map((name) => [name, time] as const)))
  const counted = new Date().toISOString()
  const ledger = new Ledger(context, changed)
  const types = ['TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'] as const
  for await (const record of store.each({ types, since }, signal)) ledger.add(record as EndEvent)
  return { since: since.toISOString(), counted, ...ledger.report() }
}

const READ_BACK_TOOL = canonicalName({ server: BUILT_IN_SERVER, tool: READ_RESULT })
const NO_AMOUNTS = { shaped: 0, isolated: 0, selected: 0, reached: 0 } as const
const NO_TOTAL = { ...NO_AMOUNTS, calls: 0, shortened: 0, readBack: 0, spent: 0 } as const

/** Adds up calls as they were recorded. */
class Ledger {
  readonly #context: AdminContext
  readonly #changed: ReadonlyMap<string, string>
  readonly #total: SavingsHistory['total'] = { ...NO_TOTAL }
  readonly #hours = new Map<string, Hour>()
  readonly #tools = new Map<string, ToolRow>()
  readonly #profiles = new Map<string, ProfileRow>()
  /** Sessions with a call in an hour. */
  readonly #turns = new Set<string>()

  /** `changed`: when the profiles that were changed meanwhile were changed last. */
  constructor(context: AdminContext, changed: ReadonlyMap<string, string>) {
    this.#context = context
    this.#changed = changed
  }

  add(record: EndEvent): void {
    const { time, tool_name: name, agent, profile, returned, bytes = 0 } = record
    const kept = returned?.tokens_kept ?? 0
    const isShaped = returned?.strategy === 'shaped'
    const row = this.#profileRow(agent, profile)
    const hourTime = `${time.slice(0, 13)}:00:00.000Z`
    const amounts = {
      shaped: isShaped ? kept : 0,
      isolated: isShaped ? 0 : kept,
      selected: this.#countSelected(record, row, hourTime),
      reached: Math.ceil((returned?.bytes ?? bytes) / BYTES_PER_TOKEN),
    }
    const hour = findOrAdd(this.#hours, hourTime, () => ({ time: hourTime, ...NO_AMOUNTS }))
    for (const sum of [this.#total, hour, row]) addAmounts(sum, amounts)
    row.calls++
    this.#total.calls++
    this.#total.spent += (returned?.tokens_in ?? 0) + (returned?.tokens_out ?? 0)
    if (name === READ_BACK_TOOL) this.#total.readBack += amounts.reached
    const tool = findOrAdd(this.#tools, name, () => ({ name, calls: 0, shortened: 0, shaped: 0, isolated: 0 }))
    tool.calls++
    if (returned === undefined) return
    this.#total.shortened++
    tool.shortened++
    tool.shaped += amounts.shaped
    tool.isolated += amounts.isolated
  }

  report(): Omit<SavingsHistory, 'since' | 'counted'> {
    const tools = [...this.#tools.values()].filter(({ shortened }) => shortened > 0)
    return {
      total: this.#total,
      hours: [...this.#hours.values()].sort((a, b) => (a.time < b.time ? -1 : 1)),
      tools: limitRows(tools, sumOthers),
      profiles: [...this.#profiles.values()].sort((a, b) => sumKept(b) - sumKept(a)).slice(0, MAX_ROWS),
    }
  }

  #profileRow(agent: string, profile: string): ProfileRow {
    const key = profileKey(agent, profile)
    return findOrAdd(this.#profiles, key, () => {
      const definitions = countSelectionTokens({ agent, variant: profile }, this.#context)
      const selectedSince = this.#changed.get(key)
      return {
        ...{ agent, profile, calls: 0, ...NO_AMOUNTS },
        ...(definitions && { definitions }),
        ...(selectedSince !== undefined && { selectedSince }),
      }
    })
  }

  /**
   * A session with a call had at least one turn in that hour, and each turn would have had all definitions. How many
   * turns there were, the gateway cannot see.
   */
  #countSelected({ time, session }: EndEvent, row: ProfileRow, hour: string): number {
    const { definitions, selectedSince = '' } = row
    if (definitions === undefined || time < selectedSince) return 0
    const turn = JSON.stringify([hour, row.agent, row.profile, session])
    if (this.#turns.has(turn) || this.#turns.size >= MAX_TURNS) return 0
    this.#turns.add(turn)
    return definitions.available - definitions.selected
  }
}

function findOrAdd<Row>(rows: Map<string, Row>, key: string, create: () => Row): Row {
  const found = rows.get(key)
  if (found !== undefined) return found
  const created = create()
  rows.set(key, created)
  return created
}

type Amounts = { -readonly [Name in keyof typeof NO_AMOUNTS]: number }

function addAmounts(sum: Amounts, added: Amounts): void {
  for (const name of Object.keys(NO_AMOUNTS) as (keyof Amounts)[]) sum[name] += added[name]
}

const sumKept = ({ shaped, isolated, selected = 0 }: Partial<Amounts> & Pick<Amounts, 'shaped' | 'isolated'>): number =>
  shaped + isolated + selected

function limitRows(rows: readonly ToolRow[], sum: (rows: readonly ToolRow[]) => ToolRow): ToolRow[] {
  const sorted = rows.toSorted((a, b) => sumKept(b) - sumKept(a))
  return sorted.length <= MAX_ROWS ? sorted : [...sorted.slice(0, MAX_ROWS), sum(sorted.slice(MAX_ROWS))]
}

const sumOthers = (rows: readonly ToolRow[]): ToolRow =>
  rows.reduce(
    (sum, row) => ({
      name: OTHERS_ROW,
      calls: sum.calls + row.calls,
      shortened: sum.shortened + row.shortened,
      shaped: sum.shaped + row.shaped,
      isolated: sum.isolated + row.isolated,
    }),
    { name: OTHERS_ROW, calls: 0, shortened: 0, shaped: 0, isolated: 0 },
  )
