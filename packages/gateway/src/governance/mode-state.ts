import { closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  checkTransition,
  cutText,
  isJsonObject,
  isMode,
  isStricter,
  type Mode,
  messageOf,
  SallyportError,
  type SallyportEvent,
  toPlainText,
  tryParseJson,
} from '@sallyport/core'
import { causeCode, describeDiskError, replaceFile } from '../disk/disk.ts'
import { SerialQueue } from './serial-queue.ts'

/** A change that a person asks for. */
export interface ModeChangeRequest {
  readonly to: Mode
  readonly by: string
  readonly via: string
  /** Required for a less strict mode. */
  readonly why?: string | undefined
}

/** A change that the gateway makes by itself. */
export interface ModeProposal {
  readonly to: Mode
  readonly why: string
}

export interface ModeChange {
  readonly from: Mode
  readonly to: Mode
}

export interface ModeStateOptions {
  /** The state folder. The caller must hold its lock. */
  readonly state: string
  readonly now: () => Date
  /** Resolves when the event is on disk. Rejects if the change must not happen without the record. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly onWarning: (text: string) => void
  /** The delay before the next attempt to write to disk, in milliseconds. */
  readonly pause?: number
}

const RETRY_DELAY_MS = 5_000
const MAX_REASON_LENGTH = 300

export function openModeState(options: ModeStateOptions): ModeState {
  return new ModeState(options, readMode(options.state))
}

/**
 * The mode of a deployment. A stricter mode is in force at once, even if it cannot be written to disk.
 * A less strict mode is in force only after it was recorded and stored.
 */
export class ModeState {
  readonly #options: ModeStateOptions
  readonly #relaxing = new SerialQueue()
  readonly #writing = new SerialQueue()
  readonly #recording = new SerialQueue()
  readonly #listeners = new Set<(change: ModeChange) => void>()
  /** Changes that are in force but not recorded yet. */
  readonly #unrecorded: SallyportEvent[] = []
  #current: ModeRecord
  #version = 0
  #tightenings = 0
  /** The version on disk. */
  #storedVersion = 0
  #problem: string | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ModeStateOptions, found: StoredMode) {
    this.#options = options
    this.#current = toModeRecord(found, options.now().toISOString())
    if (found.found === 'damage') this.#reportProblem(describeDamage(found))
  }

  get current(): ModeRecord {
    return this.#current
  }

  /** Increases with every change, so that decisions before and after a change can be distinguished. */
  get version(): number {
    return this.#version
  }

  /** Why the mode would not survive a restart, or why the right mode is not known. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Called as soon as another mode is in force. Returns a function to unsubscribe. */
  onChange(listener: (change: ModeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes the change that a person asked for, or throws. Resolves to the mode that was in force before. */
  async change({ why = '', ...rest }: ModeChangeRequest): Promise<Mode> {
    const request = { ...rest, why: cutText(toPlainText(why).trim(), MAX_REASON_LENGTH) }
    if (isStricter(request.to, this.#current.mode)) return this.#tighten(request)
    const seen = this.#tightenings
    return this.#relaxing.run(() => this.#applyInTurn(request, seen))
  }

  /** Only makes the mode stricter and never fails. Other proposals are ignored. */
  async escalate({ to, why }: ModeProposal): Promise<void> {
    if (isStricter(to, this.#current.mode)) await this.#applyNow({ to, by: 'automatic', via: 'escalation', why })
  }

  /** Tries one last time to store what could not be stored. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retryTimer)
    if (this.#hasUnsaved) await this.#persist()
  }

  async #tighten(request: NormalizedModeRequest): Promise<Mode> {
    const { mode: from } = this.#current
    const error = checkTransition(from, request.to, 'person')
    if (error) throw error
    await this.#applyNow(request)
    return from
  }

  /** Checked against the mode that earlier changes left. It fails if the mode became stricter since it was requested. */
  async #applyInTurn(request: NormalizedModeRequest, seen: number): Promise<Mode> {
    this.#assertNotOvertaken(request, seen)
    const { mode: from } = this.#current
    if (isStricter(request.to, from)) return this.#tighten(request)
    if (request.to === from) {
      if (this.#hasUnsaved) await this.#persist()
      return from
    }
    const error = checkTransition(from, request.to, 'person') ?? missingReasonError(from, request)
    if (error) throw error
    await this.#relax(request, seen)
    return from
  }

  async #relax(request: NormalizedModeRequest, seen: number): Promise<void> {
    const { mode: from } = this.#current
    const record = this.#recordFrom(request)
    // Recorded first, so that there is never a relaxation without a record.
    await this.#recordPending()
    await this.#recording.run(() => this.#options.record(toModeEvent(from, request)))
    await this.#writing.run(async () => {
      this.#assertNotOvertaken(request, seen)
      await this.#writeRelaxed(record, from)
      // If the mode became stricter in the meantime, that change is written after this one.
      this.#assertNotOvertaken(request, seen)
      this.#setCurrent(record)
      this.#storedVersion = this.#version
      this.#problem = undefined
    })
  }

  async #writeRelaxed(record: ModeRecord, from: Mode): Promise<void> {
    try {
      await writeMode(this.#options.state, record)
    } catch (error) {
      const why = `it could not be stored: ${messageOf(error)}`
      this.#unrecorded.push(toModeEvent(record.mode, { to: from, by: 'automatic', via: 'gateway', why }))
      this.#scheduleRetry()
      throw error
    }
  }

  /** In memory first: a panic must not wait for the disk. */
  async #applyNow(request: NormalizedModeRequest): Promise<void> {
    this.#unrecorded.push(toModeEvent(this.#current.mode, request))
    this.#tightenings++
    this.#setCurrent(this.#recordFrom(request))
    await this.#persist()
  }

  #setCurrent(record: ModeRecord): void {
    const { mode: from } = this.#current
    this.#current = record
    this.#version++
    for (const listener of this.#listeners) listener({ from, to: record.mode })
  }

  #recordFrom({ to, by, via, why }: NormalizedModeRequest): ModeRecord {
    return { mode: to, since: this.#options.now().toISOString(), by, via, why }
  }

  get #hasUnsaved(): boolean {
    return this.#storedVersion !== this.#version || this.#unrecorded.length > 0
  }

  /** Stores and records the mode in force. If that fails, it reports the problem and retries later. */
  async #persist(): Promise<void> {
    const [notStored, notRecorded] = await Promise.all([
      this.#store(),
      this.#recordPending().then(noProblem, describeRecordFailure),
    ])
    const problem = notStored ?? notRecorded
    if (problem === undefined) this.#problem = undefined
    else this.#reportProblem(problem)
    if (this.#hasUnsaved) this.#scheduleRetry()
  }

  #store(): Promise<string | undefined> {
    return this.#writing.run(async () => {
      const version = this.#version
      if (this.#storedVersion === version) return undefined
      try {
        await writeMode(this.#options.state, this.#current)
        this.#storedVersion = version
        return undefined
      } catch (error) {
        return this.#describeStoreFailure(error)
      }
    })
  }

  /** Writes the missing records, oldest first. */
  #recordPending(): Promise<void> {
    return this.#recording.run(async () => {
      for (let [event] = this.#unrecorded; event !== undefined; [event] = this.#unrecorded) {
        await this.#options.record(event)
        this.#unrecorded.shift()
      }
    })
  }

  #describeStoreFailure(error: unknown): string {
    const { mode } = this.#current
    const text = `${mode} is in force, but could not be stored: ${messageOf(error)}`
    if (mode !== 'LOCKDOWN') return `${text} A restart would return to the mode before it.`
    try {
      truncateMode(this.#options.state)
      return `${text} After a restart it would still be in force, but without who set it and why.`
    } catch {
      return `${text} A restart would return to the mode before it.`
    }
  }

  #reportProblem(problem: string): void {
    if (this.#problem !== problem) this.#options.onWarning(problem)
    this.#problem = problem
  }

  #scheduleRetry(): void {
    clearTimeout(this.#retryTimer)
    if (this.#closed) return
    this.#retryTimer = setTimeout(() => void this.#persist(), this.#options.pause ?? RETRY_DELAY_MS)
    this.#retryTimer.unref()
  }

  #assertNotOvertaken({ to }: NormalizedModeRequest, seen: number): void {
    if (this.#tightenings === seen) return
    const { mode, by } = this.#current
    throw new SallyportError(
      'MODE_REFUSED',
      `The mode is not changed to ${to}: ${by} has set ${mode} in the meantime.`,
      {
        hint: 'Check `sallyport mode`, then decide again.',
      },
    )
  }
}

/** A request with a cleaned reason; empty if there is none. */
type NormalizedModeRequest = ModeChangeRequest & { readonly why: string }

/** If the mode is not known, the strictest one is used. */
function toModeRecord(found: StoredMode, now: string): ModeRecord {
  if (found.found === 'record') return found.record
  const byItself = { since: now, by: 'automatic', via: 'gateway' }
  if (found.found === 'nothing') return { mode: 'NORMAL', ...byItself, why: '' }
  return {
    mode: 'LOCKDOWN',
    ...byItself,
    why: `the mode that was in force is not known: ${found.path} ${found.problem}`,
  }
}

const describeDamage = ({ path, problem }: DamagedMode): string =>
  `${path} ${problem}, so LOCKDOWN is in force. Once you know why, go back with ` +
  '`sallyport mode RECOVERY --why "…"`, then `sallyport mode NORMAL --why "…"`.'

const describeRecordFailure = (error: unknown): string =>
  `The change of the mode could not be recorded: ${messageOf(error)}`

const noProblem = (): undefined => undefined

function toModeEvent(from: Mode, { to, by, via, why }: NormalizedModeRequest): SallyportEvent {
  return { type: 'MODE_CHANGED', from, to, by, via, why }
}

function missingReasonError(from: Mode, { to, why }: NormalizedModeRequest): SallyportError | undefined {
  if (why !== '') return undefined
  return new SallyportError('INVALID_PARAMS', `${to} is less strict than ${from}: that needs a reason.`, {
    hint: `Give a reason: \`sallyport mode ${to} --why "…"\``,
  })
}

/** The mode in force, since when, who set it by what means, and why. */
export interface ModeRecord {
  readonly mode: Mode
  /** ISO 8601. */
  readonly since: string
  readonly by: string
  readonly via: string
  /** Empty if no reason was given. */
  readonly why: string
}

/** The mode in a state folder. */
type StoredMode =
  | { readonly found: 'record'; readonly record: ModeRecord }
  | { readonly found: 'nothing' }
  | DamagedMode

interface DamagedMode {
  readonly found: 'damage'
  readonly path: string
  readonly problem: string
}

/** Much more than a valid record needs. */
const MAX_BYTES = 16 * 1024

const pathOf = (state: string): string => join(state, 'mode.json')

export function readMode(state: string): StoredMode {
  const path = pathOf(state)
  try {
    const record = parseModeRecord(readSmall(path))
    return typeof record === 'string' ? { found: 'damage', path, problem: record } : { found: 'record', record }
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return { found: 'nothing' }
    return { found: 'damage', path, problem: `cannot be read: ${describeDiskError(cause)}` }
  }
}

async function writeMode(state: string, record: ModeRecord): Promise<void> {
  await replaceFile(pathOf(state), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

/** On a full disk, emptying the file often still works, and an empty file means LOCKDOWN. */
function truncateMode(state: string): void {
  const fd = openSync(pathOf(state), 'w', 0o600)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function readSmall(path: string): string {
  // Without O_NONBLOCK, opening a FIFO waits for a writer.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > MAX_BYTES) throw new Error(`it has ${stats.size} bytes`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** The record, or why the text is not a valid record. */
function parseModeRecord(text: string): ModeRecord | string {
  if (text === '') return 'is empty'
  const value = tryParseJson(text)
  if (!isJsonObject(value)) return 'is not a JSON object'
  const { mode, since, by, via, why } = value
  if (!isMode(mode)) return 'does not contain a known mode'
  if (typeof since !== 'string' || Number.isNaN(Date.parse(since))) return 'does not contain a valid time'
  if (typeof by !== 'string' || typeof via !== 'string' || typeof why !== 'string')
    return 'does not contain who set the mode and why'
  return { mode, since, by, via, why }
}
