import { createHash, type Hash } from 'node:crypto'
import { type LineHead, parseLineHead, parseSeal } from './chain.ts'
import type { LogHead } from './log-head.ts'

/** Something that the writer of the log would not have left so. */
export interface LogProblem {
  readonly file: string
  /** The record that it concerns, or the first one that it may. */
  readonly seq: number
  readonly what: string
}

export interface WalkOptions {
  readonly onProblem: (problem: LogProblem) => void
  /** Up to here everything is as the chain says, but for the problems. */
  readonly onSeal: (head: LogHead) => void
}

/** The records of one write, until the last of them says what the chain has come to. */
interface OpenWrite {
  readonly from: number
  readonly hash: Hash
  count: number
  /** What is wrong with it was said already. */
  isReported: boolean
}

/** Walks over the lines of a log in their order, and judges each by those before it. */
export class ChainWalk {
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

  /** How many records at the end no value covers yet. */
  get open(): number {
    return this.#write?.count ?? 0
  }

  startFile(file: string): void {
    this.#file = file
  }

  /** Only behind the newest record may something stand that is none yet. */
  finishFile(unread: number): void {
    if (unread > 0) this.#report(this.#nextSeq, `${unread} bytes behind the last record of the file are no record`)
  }

  addLine(line: Buffer): void {
    const head = parseLineHead(line)
    const trouble = this.#findMisplacement(head)
    const seq = head?.seq ?? this.#nextSeq
    if (trouble !== undefined) this.#report(seq, trouble)
    if (head?.after !== undefined) this.#begin(seq, head.after, trouble)
    this.#addToWrite(seq, line, trouble)
    if (head === undefined) return
    this.#records++
    this.#first ??= head
    if (seq >= this.#nextSeq) this.#last = head
  }

  get #nextSeq(): number {
    return (this.#last?.seq ?? 0) + 1
  }

  #findMisplacement(head: LineHead | undefined): string | undefined {
    if (head === undefined) return 'a line is no record'
    if (this.#last === undefined || head.seq === this.#nextSeq) return undefined
    if (head.seq < this.#nextSeq) return `record ${head.seq} stands behind record ${this.#last.seq}`
    return `${describeRecords(this.#nextSeq, head.seq - 1)} missing before record ${head.seq}`
  }

  /** A record says what it follows. */
  #begin(seq: number, after: string, trouble: string | undefined): void {
    if (this.#write !== undefined && !this.#write.isReported)
      this.#report(this.#write.from, `${describeRecords(this.#write.from, seq - 1)} without a chain value`)
    else if (this.#chain !== undefined && this.#chain !== after && trouble === undefined)
      this.#report(seq, `record ${seq} follows on other records than those before it`)
    this.#write = undefined
    this.#chain = after
    this.#chainedFrom ??= seq
  }

  #addToWrite(seq: number, line: Buffer, trouble: string | undefined): void {
    const seal = parseSeal(line)
    if (this.#chain === undefined) {
      if (seal !== undefined) this.#beginUnstated(seq, seal.chain, trouble)
      return
    }
    this.#write ??= { from: seq, hash: createHash('sha256').update(this.#chain), count: 0, isReported: false }
    this.#write.count++
    if (trouble !== undefined) this.#write.isReported = true
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

  /** Where the chain begins the first record says so: without that nothing proves the record. */
  #beginUnstated(seq: number, chain: string, trouble: string | undefined): void {
    if (trouble === undefined) this.#report(seq, `record ${seq} does not say what it follows`)
    this.#chain = chain
    this.#chainedFrom ??= seq
    this.#options.onSeal({ seq, chain })
  }

  #report(seq: number, what: string): void {
    this.#options.onProblem({ file: this.#file, seq, what })
  }
}

export function describeRecords(from: number, to: number): string {
  return from >= to ? `record ${from} is` : `records ${from} to ${to} are`
}

function describeAlteration(from: number, to: number): string {
  return from >= to ? `record ${from} was altered` : `one of the records ${from} to ${to} was altered, or several`
}
