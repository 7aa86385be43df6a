import type { EventType } from '@sallyport/core'
import type { EventView } from '../events.ts'

/** What a client of the live stream gets of the records that were written in one tick. */
export interface RecordBatch {
  readonly records: readonly EventView[]
  /** How many records of each type were left out: there were too many in this tick. */
  readonly omitted: Readonly<Partial<Record<EventType, number>>>
}

/** The numbers of the first and the last record of a batch, whether they were left out or not. */
export interface NumberedBatch extends RecordBatch {
  readonly first: number
  readonly last: number
}

/** Of each of these types, a tick takes only a few: there are several of them for each call. */
const MAX_OF_CALLS = 10
const CALL_TYPES: ReadonlySet<string> = new Set<EventType>([
  'TOOL_CALL_STARTED',
  'TOOL_CALL_COMPLETED',
  'TOOL_CALL_FAILED',
  'POLICY_DENIED',
  'CLIENT_ASKED',
  'CLIENT_ANSWERED',
  'EGRESS_DECIDED',
])
const MAX_OF_OTHERS = 100
const MAX_RECORD_BYTES = 64_000
/** Calls whose start was shown, so that their end is shown, too. */
const MAX_FOLLOWED = 5_000

/**
 * Collects what the log writes, and takes a sample of it if there is much. Only records that are shown are parsed: a
 * listener must cost calls next to nothing.
 */
export class LiveRecords {
  readonly #followed = new Set<string>()
  #lines: string[] = []
  #counts = new Map<string, number>()
  #omitted = new Map<string, number>()
  #first = 0
  #last = 0

  /** Takes the lines of one write. */
  add(lines: Buffer): void {
    for (const line of lines.toString().split('\n')) if (line !== '') this.#addLine(line)
  }

  /** Everything since the last call; `undefined` if nothing was written. */
  take(): NumberedBatch | undefined {
    if (this.#last === 0) return undefined
    const records = this.#lines.map((line) => JSON.parse(line) as EventView)
    const batch = { records, omitted: Object.fromEntries(this.#omitted), first: this.#first, last: this.#last }
    this.#lines = []
    this.#counts = new Map()
    this.#omitted = new Map()
    this.#first = 0
    this.#last = 0
    return batch
  }

  #addLine(line: string): void {
    const type = textBetween(line, '"type":"')
    const seq = Number.parseInt(line.slice('{"seq":'.length), 10)
    if (this.#first === 0) this.#first = seq
    this.#last = seq
    if (this.#isShown(type, line)) this.#lines.push(line)
    else this.#omitted.set(type, (this.#omitted.get(type) ?? 0) + 1)
  }

  #isShown(type: string, line: string): boolean {
    if (line.length > MAX_RECORD_BYTES) return false
    const count = (this.#counts.get(type) ?? 0) + 1
    this.#counts.set(type, count)
    if (!CALL_TYPES.has(type)) return count <= MAX_OF_OTHERS
    const call = textBetween(line, '"call_id":"')
    const isFollowed = this.#followed.has(call)
    if (type === 'TOOL_CALL_COMPLETED' || type === 'TOOL_CALL_FAILED') this.#followed.delete(call)
    if (count > MAX_OF_CALLS && !isFollowed) return false
    if (type === 'TOOL_CALL_STARTED') this.#follow(call)
    return true
  }

  #follow(call: string): void {
    const [oldest] = this.#followed
    if (this.#followed.size >= MAX_FOLLOWED && oldest !== undefined) this.#followed.delete(oldest)
    this.#followed.add(call)
  }
}

/**
 * The first string member of this name. The gateway writes the type before everything that a caller or a server chose;
 * the call id comes right after it in each record of a call.
 */
function textBetween(line: string, opening: string): string {
  const at = line.indexOf(opening)
  if (at < 0) return ''
  const start = at + opening.length
  return line.slice(start, line.indexOf('"', start))
}
