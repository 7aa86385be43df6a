import { existsSync, statSync } from 'node:fs'
import type { LoggedEvent } from '@sallyport/core'
import { toIndexText } from './index-query.ts'
import { type Line, readLines } from './line-reader.ts'
import { parseRecord } from './record-line.ts'
import { isAfter, listSegments, type Position, segmentAt } from './segment.ts'
import type { Sqlite, Statement } from './sqlite.ts'

/** One slice takes one to two milliseconds: short enough to stand between two calls. */
const SLICE_ROWS = 100
const SLICE_BYTES = 1024 * 1024

const INSERT = `INSERT OR REPLACE INTO events
  (seq, time, type, trace_id, call_id, server, tool_name, agent, session, file, offset, length)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Follows the log into the index. How far it came is kept in the same transaction as the rows, so that a crash repeats nothing. */
export class IndexWriter {
  readonly #database: Sqlite
  readonly #folder: string
  readonly #insert: Statement
  readonly #savePosition: Statement
  #indexed: Position

  constructor(database: Sqlite, folder: string) {
    this.#database = database
    this.#folder = folder
    this.#insert = database.prepare(INSERT)
    this.#savePosition = database.prepare('UPDATE indexed SET file = ?, offset = ?')
    const { file, offset } = database.prepare('SELECT file, offset FROM indexed').get() as Position
    this.#indexed = { file, offset }
  }

  /** Rows of records that the log does not have (any more) make the whole index doubtful: it begins anew. */
  forgetAfter(end: Position): void {
    if (isAfter(this.#indexed, end)) this.forget()
  }

  forget(): void {
    this.#transact({ file: 0, offset: 0 }, () => this.#database.exec('DELETE FROM events'))
  }

  forgetFile(file: number): void {
    this.#database.prepare('DELETE FROM events WHERE file = ?').run(file)
  }

  /** A slice of the rows up to a number, which is the last that retention removed. */
  forgetSlice(through: number): 'more' | 'done' {
    this.#database
      .prepare('DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ? ORDER BY seq LIMIT ?)')
      .run(through, SLICE_ROWS)
    const left = this.#database.prepare('SELECT seq FROM events WHERE seq <= ? LIMIT 1').all(through)
    return left.length > 0 ? 'more' : 'done'
  }

  /** Whether there are whole files between it and the one that is written to. */
  isFarBehind(): boolean {
    return listSegments(this.#folder).filter(({ firstSeq }) => firstSeq > this.#indexed.file).length > 1
  }

  writeSlice(): 'more' | 'done' {
    const from = this.#findStart()
    if (from === undefined) return 'done'
    const lines = readSlice(segmentAt(this.#folder, from.file).path, from.offset)
    const last = lines.at(-1)
    if (last === undefined) return this.#toNextSegment(from)
    const end = { file: from.file, offset: last.offset + last.length + 1 }
    this.#transact(end, () => {
      for (const line of lines) this.#insertLine(from.file, line)
    })
    return 'more'
  }

  /** The place to go on from, in a segment that is there; undefined when the log is empty. */
  #findStart(): Position | undefined {
    const { path } = segmentAt(this.#folder, this.#indexed.file)
    if (existsSync(path)) {
      if (statSync(path).size < this.#indexed.offset) this.forget()
      else return this.#indexed
    }
    const next = this.#segmentAfter(this.#indexed.file)
    return next === undefined ? undefined : { file: next, offset: 0 }
  }

  #toNextSegment(from: Position): 'more' | 'done' {
    const next = this.#segmentAfter(from.file)
    if (next === undefined) return 'done'
    this.#transact({ file: next, offset: 0 }, () => undefined)
    return 'more'
  }

  #segmentAfter(file: number): number | undefined {
    return listSegments(this.#folder).find(({ firstSeq }) => firstSeq > file)?.firstSeq
  }

  #transact(end: Position, work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#savePosition.run(end.file, end.offset)
      this.#database.exec('COMMIT')
    } catch (cause) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      throw cause
    }
    this.#indexed = end
  }

  /** A line that is no record is left out; the log keeps it. */
  #insertLine(file: number, line: Line): void {
    const record = parseRecord(line.text)
    if (record !== undefined) this.#insert.run(...toRow(record), file, line.offset, line.length)
  }
}

function toRow(record: LoggedEvent): readonly (string | number | null)[] {
  const time = Date.parse(record.time)
  const fields = record as unknown as Readonly<Record<string, unknown>>
  return [
    record.seq,
    Number.isNaN(time) ? null : time,
    toIndexText(record.type),
    toIndexText(fields.trace_id),
    toIndexText(fields.call_id),
    toIndexText(fields.server),
    toIndexText(fields.tool_name),
    toIndexText(fields.agent),
    toIndexText(fields.session),
  ]
}

function readSlice(path: string, from: number): readonly Line[] {
  const lines: Line[] = []
  for (const line of readLines(path, from)) {
    lines.push(line)
    if (lines.length === SLICE_ROWS || line.offset + line.length - from >= SLICE_BYTES) break
  }
  return lines
}
