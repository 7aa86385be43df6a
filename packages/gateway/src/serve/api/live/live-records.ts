import type { EventType } from '@sallyport/core'
import type { EventView } from '../events.ts'

/** What a client of the live stream gets of the records that were written in one tick. */
export interface RecordBatch {
  readonly records: readonly EventView[]
  /** How many records of each type were left out: there were too many in this tick. */
  readonly omitted: Readonly<Partial<Record<EventType, number>>>
}

/** A record as the log has it: its line is JSON already, so nobody has to parse and print it. */
export interface ShownRecord {
  readonly seq: number
  readonly type: string
  readonly line: string
}

/** The records of a tick, with the numbers of the first and the last one, whether they were left out or not. */
export interface NumberedBatch extends Pick<RecordBatch, 'omitted'> {
  readonly shown: readonly ShownRecord[]
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
/** More than is written between two ticks, nearly always. */
const BUFFER_BYTES = 262_144
/** Of `{"seq":`, which begins each line. */
const SEQ_LENGTH = 7
const MAX_DIGITS = 16

/** Whether records of this type come with each call, and change nothing else that a page shows. */
export const isCallRecord = (type: string): boolean => CALL_TYPES.has(type)

/**
 * Collects what the log writes, and takes a sample of it if there is much. Calls wait for what a write costs, so a write
 * is only copied. All the rest happens once for each tick.
 */
export class LiveRecords {
  readonly #followed = new Set<string>()
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #end = 0
  #shown: ShownRecord[] = []
  readonly #counts = new Map<string, number>()
  readonly #omitted = new Map<string, number>()
  #first = 0
  #last = 0

  /** Takes the lines of one write, whose bytes are valid only now. */
  add(lines: Buffer): void {
    if (this.#end + lines.length > this.#buffer.length) this.#readBuffer()
    if (lines.length > this.#buffer.length) this.#readLines(lines)
    else this.#end += lines.copy(this.#buffer, this.#end)
  }

  /** Everything since the last call; `undefined` if nothing was written. */
  take(): NumberedBatch | undefined {
    this.#readBuffer()
    if (this.#last === 0) return undefined
    const omitted = Object.fromEntries(this.#omitted)
    const batch = { shown: this.#shown, omitted, first: this.#first, last: this.#last }
    this.#shown = []
    this.#counts.clear()
    this.#omitted.clear()
    this.#first = 0
    this.#last = 0
    return batch
  }

  #readBuffer(): void {
    this.#readLines(this.#buffer.subarray(0, this.#end))
    this.#end = 0
  }

  /** One character for each byte, so that places in the text are places in the buffer: only shown lines are decoded. */
  #readLines(lines: Buffer): void {
    const text = lines.toString('latin1')
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf('\n', start)
      const type = textAfter(text, '"type":"', start)
      const seq = Number.parseInt(text.slice(start + SEQ_LENGTH, start + SEQ_LENGTH + MAX_DIGITS), 10)
      if (this.#first === 0) this.#first = seq
      this.#last = seq
      if (end - start <= MAX_RECORD_BYTES && this.#isShown(type, text, start))
        this.#shown.push({ seq, type, line: lines.toString('utf8', start, end) })
      else this.#omitted.set(type, (this.#omitted.get(type) ?? 0) + 1)
      start = end + 1
    }
  }

  #isShown(type: string, text: string, start: number): boolean {
    const count = (this.#counts.get(type) ?? 0) + 1
    this.#counts.set(type, count)
    if (!CALL_TYPES.has(type)) return count <= MAX_OF_OTHERS
    if (type === 'TOOL_CALL_STARTED') {
      if (count > MAX_OF_CALLS) return false
      this.#follow(textAfter(text, '"call_id":"', start))
      return true
    }
    if (count > MAX_OF_CALLS && this.#followed.size === 0) return false
    const call = textAfter(text, '"call_id":"', start)
    const isFollowed = this.#followed.has(call)
    if (isFollowed && (type === 'TOOL_CALL_COMPLETED' || type === 'TOOL_CALL_FAILED')) this.#followed.delete(call)
    return count <= MAX_OF_CALLS || isFollowed
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
function textAfter(text: string, opening: string, from: number): string {
  const at = text.indexOf(opening, from) + opening.length
  return text.slice(at, text.indexOf('"', at))
}
