import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventCount } from './records.ts'
import type { Sqlite } from './sqlite.ts'

/** A slice takes some milliseconds, and calls get their turn after it. Of more records only the newest are counted. */
const SLICE_ROWS = 10_000
const MAX_SLICES = 200
/** Results that are remembered, so that the next one only counts what is new. */
const MAX_KNOWN = 8
const HOUR_MS = 3_600_000

const COUNT = `SELECT type, agent, server, time / ${HOUR_MS} AS hour, COUNT(*) AS n FROM events
  WHERE seq > ? AND seq <= ? AND time >= ? GROUP BY type, agent, server, hour`
const LAST_USES = `SELECT tool_name, MAX(time) AS time FROM events
  WHERE seq > ? AND seq <= ? AND type = 'TOOL_CALL_STARTED' AND agent = ? GROUP BY tool_name`

interface CountRow {
  readonly type: string
  readonly agent: string | null
  readonly server: string | null
  readonly hour: number
  readonly n: number
}

interface UseRow {
  readonly tool_name: string | null
  readonly time: number | null
}

/** What was found up to a record. */
interface Known<Value> {
  readonly through: number
  readonly values: ReadonlyMap<string, Value>
}

/** Adds up the rows of the index, in slices. */
export class EventCounts {
  readonly #database: Sqlite
  readonly #counts = new Map<number, Known<EventCount>>()
  readonly #uses = new Map<string, Known<number>>()

  constructor(database: Sqlite) {
    this.#database = database
  }

  /** How many records of each kind there are since a time, by hour. */
  async count(since: Date): Promise<readonly EventCount[]> {
    const values = await this.#addNew(this.#counts, since.getTime(), (from, to, counts) => {
      const rows = this.#database.prepare(COUNT).all(from, to, since.getTime()) as readonly CountRow[]
      for (const row of rows) addCount(counts, row)
      return rows.length > 0
    })
    return [...values.values()]
  }

  /** When an agent last called each tool, by its recorded name. */
  lastUses(agent: string): Promise<ReadonlyMap<string, number>> {
    return this.#addNew(this.#uses, agent, (from, to, uses) => {
      const rows = this.#database.prepare(LAST_USES).all(from, to, agent) as readonly UseRow[]
      for (const { tool_name: name, time } of rows)
        if (name !== null && time !== null) uses.set(name, Math.max(time, uses.get(name) ?? 0))
      return true
    })
  }

  /** Nothing before the last known record changes, so only what came after it is read; `add`: whether to go on. */
  async #addNew<Key, Value>(
    known: Map<Key, Known<Value>>,
    key: Key,
    add: (from: number, to: number, values: Map<string, Value>) => boolean,
  ): Promise<ReadonlyMap<string, Value>> {
    const last = this.#lastSeq()
    const before = known.get(key)
    // Another log has other records with these numbers.
    const start = before !== undefined && before.through <= last ? before : undefined
    const values = new Map(start?.values)
    const end = start?.through ?? 0
    for (let to = last, slices = 0; to > end && slices < MAX_SLICES; to -= SLICE_ROWS, slices++) {
      if (!add(Math.max(end, to - SLICE_ROWS), to, values)) break
      await nextTurn()
    }
    known.delete(key)
    known.set(key, { through: last, values })
    const [oldest] = known.keys()
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
    return values
  }

  #lastSeq(): number {
    return (this.#database.prepare('SELECT MAX(seq) AS seq FROM events').get() as { seq: number | null }).seq ?? 0
  }
}

function addCount(counts: Map<string, EventCount>, { type, agent, server, hour, n }: CountRow): void {
  const key = JSON.stringify([type, agent, server, hour])
  const count = (counts.get(key)?.count ?? 0) + n
  counts.set(key, { type, agent: agent ?? '', server: server ?? '', hour: hour * HOUR_MS, count })
}
