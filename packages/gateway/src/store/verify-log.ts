import { createHash, type Hash } from 'node:crypto'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { causeCode, stateUnusable } from '../disk/disk.ts'
import { type LineHead, parseLineHead, parseSeal } from './chain.ts'
import { readByteLines } from './line-reader.ts'
import { type LogHead, readHead } from './log-head.ts'
import { parseRecord } from './record-line.ts'
import { listSegments, type Segment } from './segment.ts'

/** Something that the writer of the log would not have written. */
interface LogProblem {
  readonly file: string
  /** The record that it concerns, or the first one that it may concern. */
  readonly seq: number
  readonly what: string
}

interface WalkOptions {
  readonly onProblem: (problem: LogProblem) => void
  /** Up to this head everything matches the chain, except for the reported problems. */
  readonly onSeal: (head: LogHead) => void
}

/** The records of one write, until its last record with the chain value. */
interface OpenWrite {
  readonly from: number
  readonly hash: Hash
  count: number
  /** A problem with it was reported already. */
  isReported: boolean
}

/** Reads the lines of a log in order, and checks each against those before it. */
class ChainWalk {
  readonly #options: WalkOptions
  #file = ''
  #chain: string | undefined
  #write: OpenWrite | undefined
  #first: LineHead | undefined
  #last: LineHead | undefined
  #records = 0
  #chainedFrom: number | undefined

  constructor(options: WalkOptions) {
    this.#options = options
  }

  get records(): number {
    return this.#records
  }

  get first(): LineHead | undefined {
    return this.#first
  }

  get last(): LineHead | undefined {
    return this.#last
  }

  /** Records before this one were written without a chain. */
  get chainedFrom(): number | undefined {
    return this.#chainedFrom
  }

  /** The number of records at the end that no chain value covers yet. */
  get open(): number {
    return this.#write?.count ?? 0
  }

  startFile(file: string): void {
    this.#file = file
  }

  /** Only the newest file may end with bytes that are not a record yet. */
  finishFile(unread: number): void {
    if (unread > 0)
      this.#report(this.#nextSeq, `${unread} bytes after the last record of the file are not a valid record`)
  }

  addLine(line: Buffer): void {
    const head = parseLineHead(line)
    const problem = this.#findMisplacement(head)
    const seq = head?.seq ?? this.#nextSeq
    if (problem !== undefined) this.#report(seq, problem)
    if (head?.after !== undefined) this.#begin(seq, head.after, problem)
    this.#addToWrite(seq, line, problem)
    if (head === undefined) return
    this.#records++
    this.#first ??= head
    if (seq >= this.#nextSeq) this.#last = head
  }

  get #nextSeq(): number {
    return (this.#last?.seq ?? 0) + 1
  }

  #findMisplacement(head: LineHead | undefined): string | undefined {
    if (head === undefined) return 'a line is not a valid record'
    if (this.#last === undefined || head.seq === this.#nextSeq) return undefined
    if (head.seq < this.#nextSeq) return `record ${head.seq} comes after record ${this.#last.seq}`
    return `${describeRecords(this.#nextSeq, head.seq - 1)} missing before record ${head.seq}`
  }

  /** For a record that states what it follows. */
  #begin(seq: number, after: string, problem: string | undefined): void {
    if (this.#write !== undefined && !this.#write.isReported)
      this.#report(this.#write.from, `${describeRecords(this.#write.from, seq - 1)} without a chain value`)
    else if (this.#chain !== undefined && this.#chain !== after && problem === undefined)
      this.#report(seq, `record ${seq} does not follow the records before it`)
    this.#write = undefined
    this.#chain = after
    this.#chainedFrom ??= seq
  }

  #addToWrite(seq: number, line: Buffer, problem: string | undefined): void {
    const seal = parseSeal(line)
    if (this.#chain === undefined) {
      if (seal !== undefined) this.#beginUnstated(seq, seal.chain, problem)
      return
    }
    this.#write ??= { from: seq, hash: createHash('sha256').update(this.#chain), count: 0, isReported: false }
    this.#write.count++
    if (problem !== undefined) this.#write.isReported = true
    if (seal === undefined) this.#write.hash.update(line).update('\n')
    else this.#closeWrite(seq, seal.chain, this.#write.hash.update(line.subarray(0, seal.at)))
  }

  #closeWrite(seq: number, chain: string, hash: Hash): void {
    const write = this.#write
    if (write !== undefined && !write.isReported && hash.digest('hex') !== chain)
      this.#report(write.from, describeAlteration(write.from, seq))
    this.#write = undefined
    this.#chain = chain
    this.#options.onSeal({ seq, chain })
  }

  /** The first record of a chain states what it follows: without that statement nothing proves the record. */
  #beginUnstated(seq: number, chain: string, problem: string | undefined): void {
    if (problem === undefined) this.#report(seq, `record ${seq} does not say what it follows`)
    this.#chain = chain
    this.#chainedFrom ??= seq
    this.#options.onSeal({ seq, chain })
  }

  #report(seq: number, what: string): void {
    this.#options.onProblem({ file: this.#file, seq, what })
  }
}

function describeRecords(from: number, to: number): string {
  return from >= to ? `record ${from} is` : `records ${from} to ${to} are`
}

function describeAlteration(from: number, to: number): string {
  return from >= to ? `record ${from} was altered` : `one of the records ${from} to ${to} was altered, or several`
}

export interface VerifyOptions {
  readonly folder: string
  /** A head that was noted elsewhere: the log must contain it. */
  readonly noted?: string
  readonly signal?: AbortSignal
}

/** The result of a verification. Without problems, the log is as it was written. */
export interface LogReport {
  readonly files: number
  readonly records: number
  readonly bytes: number
  readonly first: RecordMark | undefined
  readonly last: RecordMark | undefined
  /** The newest chain value: noted elsewhere, it proves everything up to here. */
  readonly head: LogHead | undefined
  /** Records before this one were written without a chain, and nothing proves them. */
  readonly chainedFrom: number | undefined
  /** Records up to this one were removed because of their age or size. */
  readonly trimmedThrough: number | undefined
  /** Whole records and further bytes of a write that was interrupted or is still running. */
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
/** This many bytes are read before other work, such as an interruption, gets its turn. */
const SLICE_BYTES = 4 * 1024 * 1024
const TRIMMED = '"type":"LOG_TRIMMED"'

/** Reads a whole log and reports whether it is as it was written. A gateway may write to it at the same time. */
export async function verifyLog(options: VerifyOptions): Promise<LogReport> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await new Verification(options).run()
    } catch (cause) {
      // Retention may remove old files during the reading: then the rest is checked again.
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
    // Taken before the reading: bytes that are written meanwhile do not count as unread.
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
    const savedHead = this.#savedHead
    if (savedHead === undefined || this.#isSavedHeadFound) return
    const last = this.#walk.last?.seq ?? 0
    const file = segment === undefined ? 'head.json' : basename(segment.path)
    if (savedHead.seq > last)
      this.#addProblem({ file, seq: last + 1, what: `${describeRecords(last + 1, savedHead.seq)} missing at the end` })
    else if (savedHead.seq >= (this.#walk.first?.seq ?? 0))
      this.#addProblem({
        file,
        seq: savedHead.seq,
        what: `record ${savedHead.seq} or one before it differs from what head.json states`,
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
      first: toMark(first),
      last: toMark(last),
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

const toMark = (head: LineHead | undefined): RecordMark | undefined => head && { seq: head.seq, time: head.time }
