import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { causeCode, stateUnusable } from '../disk/disk.ts'
import type { LineHead } from './chain.ts'
import { ChainWalk, describeRecords, type LogProblem } from './chain-walk.ts'
import { readByteLines } from './line-reader.ts'
import { type LogHead, readHead } from './log-head.ts'
import { parseRecord } from './record-line.ts'
import { listSegments, type Segment } from './segment.ts'

export interface VerifyOptions {
  readonly folder: string
  /** A head that was noted elsewhere: the log has to have come by it. */
  readonly noted?: string
  readonly signal?: AbortSignal
}

/** What was found in a log. It is as it was written where there are no problems. */
export interface LogReport {
  readonly files: number
  readonly records: number
  readonly bytes: number
  readonly first: RecordMark | undefined
  readonly last: RecordMark | undefined
  /** What the chain has come to: kept elsewhere, it proves everything up to here. */
  readonly head: LogHead | undefined
  /** Records before this one were written without a chain, and nothing proves them. */
  readonly chainedFrom: number | undefined
  /** Records up to this one were removed because of their age or for their size. */
  readonly trimmedThrough: number | undefined
  /** Whole records and further bytes of a write that was cut short, or that is just being made. */
  readonly unfinished: { readonly records: number; readonly bytes: number }
  /** The record that the noted head belongs to. */
  readonly notedAt: number | undefined
  /** The first hundred. */
  readonly problems: readonly LogProblem[]
  readonly problemCount: number
}

export interface RecordMark {
  readonly seq: number
  readonly time: string
}

const MAX_PROBLEMS = 100
const MAX_ATTEMPTS = 5
/** So many bytes are read before other work, such as an interruption, gets its turn. */
const SLICE_BYTES = 4 * 1024 * 1024
const TRIMMED = '"type":"LOG_TRIMMED"'

/** Reads a whole log and tells whether it is as it was written. A gateway may go on writing to it meanwhile. */
export async function verifyLog(options: VerifyOptions): Promise<LogReport> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await new Verification(options).run()
    } catch (cause) {
      // Old files are taken away while they are read: what is left is judged anew.
      if (causeCode(cause) === 'ENOENT' && attempt < MAX_ATTEMPTS) continue
      throw causeCode(cause) === '' ? cause : stateUnusable(options.folder, cause)
    }
  }
}

class Verification {
  readonly #options: VerifyOptions
  /** Read before the log: whatever is written meanwhile, the log is never behind it. */
  readonly #savedHead: LogHead | undefined
  readonly #walk = new ChainWalk({
    onProblem: (problem) => this.#addProblem(problem),
    onSeal: (head) => this.#onSeal(head),
  })
  readonly #problems: LogProblem[] = []
  #problemCount = 0
  #bytes = 0
  #unread = 0
  #head: LogHead | undefined
  #isSavedHeadFound = false
  #notedAt: number | undefined
  #trimmedThrough: number | undefined

  constructor(options: VerifyOptions) {
    this.#options = options
    this.#savedHead = readHead(options.folder)
  }

  async run(): Promise<LogReport> {
    const segments = listSegments(this.#options.folder)
    for (const [at, segment] of segments.entries()) {
      await this.#read(segment)
      if (at < segments.length - 1) this.#walk.finishFile(this.#unread)
    }
    this.#checkStart(segments[0])
    this.#checkEnd(segments.at(-1))
    return this.#report(segments.length)
  }

  async #read({ path }: Segment): Promise<void> {
    this.#walk.startFile(basename(path))
    // Before the reading: what is written meanwhile is not what was left unread.
    const { size } = statSync(path)
    let end = 0
    let pauseAt = SLICE_BYTES
    for (const { offset, bytes } of readByteLines(path, 0)) {
      this.#walk.addLine(bytes)
      if (bytes.includes(TRIMMED)) this.#noteTrim(bytes)
      end = offset + bytes.length + 1
      if (end < pauseAt) continue
      pauseAt = end + SLICE_BYTES
      await nextTurn()
      this.#options.signal?.throwIfAborted()
    }
    this.#unread = Math.max(0, size - end)
    this.#bytes += end
  }

  #noteTrim(line: Buffer): void {
    const record = parseRecord(line.toString())
    if (record?.type !== 'LOG_TRIMMED' || !Number.isSafeInteger(record.through)) return
    this.#trimmedThrough = Math.max(this.#trimmedThrough ?? 0, record.through)
  }

  #onSeal(head: LogHead): void {
    this.#head = head
    if (head.seq === this.#savedHead?.seq) this.#isSavedHeadFound = head.chain === this.#savedHead.chain
    if (head.chain === this.#options.noted) this.#notedAt = head.seq
  }

  #checkStart(segment: Segment | undefined): void {
    const { first } = this.#walk
    const from = (this.#trimmedThrough ?? 0) + 1
    if (segment === undefined || first === undefined || first.seq <= from) return
    const what = `${describeRecords(from, first.seq - 1)} missing, and no record says that retention removed them`
    this.#addProblem({ file: basename(segment.path), seq: from, what })
  }

  #checkEnd(segment: Segment | undefined): void {
    const kept = this.#savedHead
    if (kept === undefined || this.#isSavedHeadFound) return
    const last = this.#walk.last?.seq ?? 0
    const file = segment === undefined ? 'head.json' : basename(segment.path)
    if (kept.seq > last)
      this.#addProblem({ file, seq: last + 1, what: `${describeRecords(last + 1, kept.seq)} missing at the end` })
    else if (kept.seq >= (this.#walk.first?.seq ?? 0))
      this.#addProblem({
        file,
        seq: kept.seq,
        what: `record ${kept.seq} or one before it is another than head.json tells of`,
      })
  }

  #addProblem(problem: LogProblem): void {
    this.#problemCount++
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem)
  }

  #report(files: number): LogReport {
    const { records, chainedFrom, open, first, last } = this.#walk
    return {
      files,
      records,
      bytes: this.#bytes,
      first: markOf(first),
      last: markOf(last),
      head: this.#head,
      chainedFrom,
      trimmedThrough: this.#trimmedThrough,
      unfinished: { records: open, bytes: this.#unread },
      notedAt: this.#notedAt,
      problems: this.#problems,
      problemCount: this.#problemCount,
    }
  }
}

const markOf = (head: LineHead | undefined): RecordMark | undefined => head && { seq: head.seq, time: head.time }
