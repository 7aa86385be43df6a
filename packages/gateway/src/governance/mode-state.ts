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

/** What a person wants. */
export interface ModeChangeRequest {
  readonly to: Mode
  readonly by: string
  readonly via: string
  /** A relaxation needs one. */
  readonly why?: string | undefined
}

/** What the gateway does by itself. */
export interface ModeProposal {
  readonly to: Mode
  readonly why: string
}

export interface ModeChange {
  readonly from: Mode
  readonly to: Mode
}

export interface ModeStateOptions {
  /** The state folder; whoever opens it holds its lock. */
  readonly state: string
  readonly now: () => Date
  /** Resolves when the event is safe on disk. Rejects where nothing may go on without it. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly onWarning: (text: string) => void
  /** How long to wait before the disk is tried again, in milliseconds. */
  readonly pause?: number
}

const RETRY_DELAY_MS = 5_000
const MAX_REASON_LENGTH = 300

export function openModeState(options: ModeStateOptions): ModeState {
  return new ModeState(options, readMode(options.state))
}

/**
 * The one mode of a deployment. What is stricter is in force at once, whatever the disk says;
 * what is laxer only when it is recorded and kept.
 */
export class ModeState {
  readonly #options: ModeStateOptions
  readonly #relaxing = new SerialQueue()
  readonly #writing = new SerialQueue()
  readonly #recording = new SerialQueue()
  readonly #listeners = new Set<(change: ModeChange) => void>()
  /** Changes in force of which there is no record yet. */
  readonly #unrecorded: SallyportEvent[] = []
  #current: ModeRecord
  #version = 0
  #tightenings = 0
  /** The version that the disk has. */
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

  /** Grows with every change, so that a decision made before one can be told from one made after. */
  get version(): number {
    return this.#version
  }

  /** What keeps the mode from outliving a restart as it is, or why nobody knows which it should be. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Called as soon as another mode is in force. Returns the unsubscribe. */
  onChange(listener: (change: ModeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Does what a person wants, or throws why not. Resolves to the mode that was in force before. */
  async change({ why = '', ...wish }: ModeChangeRequest): Promise<Mode> {
    const told = { ...wish, why: cutText(toPlainText(why).trim(), MAX_REASON_LENGTH) }
    if (isStricter(told.to, this.#current.mode)) return this.#tighten(told)
    const seen = this.#tightenings
    return this.#relaxing.run(() => this.#applyInTurn(told, seen))
  }

  /** Never relaxes, and never fails: what is not stricter is no news. */
  async escalate({ to, why }: ModeProposal): Promise<void> {
    if (isStricter(to, this.#current.mode)) await this.#applyNow({ to, by: 'automatic', via: 'escalation', why })
  }

  /** What could not be kept is tried a last time. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retryTimer)
    if (this.#hasUnsaved) await this.#persist()
  }

  async #tighten(wish: NormalizedModeRequest): Promise<Mode> {
    const { mode: from } = this.#current
    const flaw = checkTransition(from, wish.to, 'person')
    if (flaw) throw flaw
    await this.#applyNow(wish)
    return from
  }

  /** Judged in its turn, by what those before it left. Whoever wished it must have seen how strict the mode is. */
  async #applyInTurn(wish: NormalizedModeRequest, seen: number): Promise<Mode> {
    this.#assertNotOvertaken(wish, seen)
    const { mode: from } = this.#current
    if (isStricter(wish.to, from)) return this.#tighten(wish)
    if (wish.to === from) {
      if (this.#hasUnsaved) await this.#persist()
      return from
    }
    const flaw = checkTransition(from, wish.to, 'person') ?? missingReasonError(from, wish)
    if (flaw) throw flaw
    await this.#relax(wish, seen)
    return from
  }

  async #relax(wish: NormalizedModeRequest, seen: number): Promise<void> {
    const { mode: from } = this.#current
    const record = this.#recordFrom(wish)
    // Recorded first: there must be no relaxation that nobody can see afterwards.
    await this.#recordPending()
    await this.#recording.run(() => this.#options.record(toModeEvent(from, wish)))
    await this.#writing.run(async () => {
      this.#assertNotOvertaken(wish, seen)
      await this.#writeRelaxed(record, from)
      // Whoever tightened it meanwhile writes behind us.
      this.#assertNotOvertaken(wish, seen)
      this.#setCurrent(record)
      this.#storedVersion = this.#version
      this.#problem = undefined
    })
  }

  async #writeRelaxed(record: ModeRecord, from: Mode): Promise<void> {
    try {
      await writeMode(this.#options.state, record)
    } catch (error) {
      const why = `it could not be kept: ${messageOf(error)}`
      this.#unrecorded.push(toModeEvent(record.mode, { to: from, by: 'automatic', via: 'gateway', why }))
      this.#scheduleRetry()
      throw error
    }
  }

  /** In memory first: a panic waits for no disk. */
  async #applyNow(wish: NormalizedModeRequest): Promise<void> {
    this.#unrecorded.push(toModeEvent(this.#current.mode, wish))
    this.#tightenings++
    this.#setCurrent(this.#recordFrom(wish))
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

  /** Keeps and records what is in force already. Where the disk refuses, it is told and tried again. */
  async #persist(): Promise<void> {
    const [unkept, unrecorded] = await Promise.all([
      this.#store(),
      this.#recordPending().then(noProblem, describeRecordFailure),
    ])
    const trouble = unkept ?? unrecorded
    if (trouble === undefined) this.#problem = undefined
    else this.#reportProblem(trouble)
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

  /** Records what is owed, oldest first. */
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
    const text = `${mode} is in force, but could not be kept: ${messageOf(error)}`
    if (mode !== 'LOCKDOWN') return `${text} A restart would bring back the mode before it.`
    try {
      truncateMode(this.#options.state)
      return `${text} A restart would bring it back without who set it and why.`
    } catch {
      return `${text} A restart would bring back the mode before it.`
    }
  }

  #reportProblem(trouble: string): void {
    if (this.#problem !== trouble) this.#options.onWarning(trouble)
    this.#problem = trouble
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
    throw new SallyportError('MODE_REFUSED', `${to} was overtaken: ${by} has set ${mode} meanwhile.`, {
      hint: 'Look at `sallyport mode`, and decide again.',
    })
  }
}

/** A wish whose reason has been read; empty where none was given. */
type NormalizedModeRequest = ModeChangeRequest & { readonly why: string }

/** Unknown means strictest. */
function toModeRecord(found: StoredMode, now: string): ModeRecord {
  if (found.found === 'record') return found.record
  const byItself = { since: now, by: 'automatic', via: 'gateway' }
  if (found.found === 'nothing') return { mode: 'NORMAL', ...byItself, why: '' }
  return { mode: 'LOCKDOWN', ...byItself, why: `which mode was in force is not known: ${found.path} ${found.problem}` }
}

const describeDamage = ({ path, problem }: DamagedMode): string =>
  `${path} ${problem}, so that LOCKDOWN is in force. Once you know why, go back with ` +
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
    hint: `Say why: \`sallyport mode ${to} --why "…"\``,
  })
}

/** The mode in force, since when, who set it by what means, and why. */
export interface ModeRecord {
  readonly mode: Mode
  /** ISO 8601. */
  readonly since: string
  readonly by: string
  readonly via: string
  /** Empty where nobody said why. */
  readonly why: string
}

/** What a state folder says about the mode. */
type StoredMode =
  | { readonly found: 'record'; readonly record: ModeRecord }
  | { readonly found: 'nothing' }
  | DamagedMode

interface DamagedMode {
  readonly found: 'damage'
  readonly path: string
  readonly problem: string
}

/** No record of ours is nearly as long. */
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

/** Where no record fits any more there is often still room for none: a file that says nothing means LOCKDOWN. */
function truncateMode(state: string): void {
  const fd = openSync(pathOf(state), 'w', 0o600)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function readSmall(path: string): string {
  // Without O_NONBLOCK the opening of a FIFO waits for its writer.
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

/** The record, or what keeps the text from being one. */
function parseModeRecord(text: string): ModeRecord | string {
  if (text === '') return 'is empty'
  const value = tryParseJson(text)
  if (!isJsonObject(value)) return 'is not a JSON object'
  const { mode, since, by, via, why } = value
  if (!isMode(mode)) return 'names no mode that is known'
  if (typeof since !== 'string' || Number.isNaN(Date.parse(since))) return 'does not say since when'
  if (typeof by !== 'string' || typeof via !== 'string' || typeof why !== 'string') return 'does not say who and why'
  return { mode, since, by, via, why }
}
