import {
  cutText,
  isStricter,
  type Mode,
  messageOf,
  plainText,
  SallyportError,
  type SallyportEvent,
  transitionFlaw,
} from '@sallyport/core'
import { type DamagedMode, emptyMode, type FoundMode, type ModeRecord, readMode, writeMode } from './mode-file.ts'
import { Turns } from './turns.ts'

/** What a person wants. */
export interface ModeWish {
  readonly to: Mode
  readonly by: string
  readonly via: string
  /** A relaxation needs one. */
  readonly why?: string | undefined
}

/** What the gateway does by itself. */
export interface Proposal {
  readonly to: Mode
  readonly why: string
}

export interface ModeChange {
  readonly from: Mode
  readonly to: Mode
}

export interface ModeKeeperOptions {
  /** The state folder; whoever opens it holds its lock. */
  readonly state: string
  readonly now: () => Date
  /** Resolves when the event is safe on disk. Rejects where nothing may go on without it. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly onTrouble: (text: string) => void
  /** How long to wait before the disk is tried again, in milliseconds. */
  readonly pause?: number
}

const PAUSE = 5_000
const MAX_WHY = 300

export function openModeKeeper(options: ModeKeeperOptions): ModeKeeper {
  return new ModeKeeper(options, readMode(options.state))
}

/**
 * The one mode of a deployment. What is stricter is in force at once, whatever the disk says;
 * what is laxer only when it is recorded and kept.
 */
export class ModeKeeper {
  readonly #options: ModeKeeperOptions
  readonly #relaxing = new Turns()
  readonly #writing = new Turns()
  readonly #recording = new Turns()
  readonly #listeners = new Set<(change: ModeChange) => void>()
  /** Changes in force of which there is no record yet. */
  readonly #owed: SallyportEvent[] = []
  #current: ModeRecord
  #version = 0
  #tightenings = 0
  /** The version that the disk has. */
  #kept = 0
  #trouble: string | undefined
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ModeKeeperOptions, found: FoundMode) {
    this.#options = options
    this.#current = recordOf(found, options.now().toISOString())
    if (found.found === 'damage') this.#complain(damageText(found))
  }

  get current(): ModeRecord {
    return this.#current
  }

  /** Grows with every change, so that a decision made before one can be told from one made after. */
  get version(): number {
    return this.#version
  }

  /** What keeps the mode from outliving a restart as it is, or why nobody knows which it should be. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** Called as soon as another mode is in force. Returns the unsubscribe. */
  onChange(listener: (change: ModeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Does what a person wants, or throws why not. Resolves to the mode that was in force before. */
  async change({ why = '', ...wish }: ModeWish): Promise<Mode> {
    const told = { ...wish, why: cutText(plainText(why).trim(), MAX_WHY) }
    if (isStricter(told.to, this.#current.mode)) return this.#tighten(told)
    const seen = this.#tightenings
    return this.#relaxing.take(() => this.#follow(told, seen))
  }

  /** Never relaxes, and never fails: what is not stricter is no news. */
  async escalate({ to, why }: Proposal): Promise<void> {
    if (isStricter(to, this.#current.mode)) await this.#putInForce({ to, by: 'automatic', via: 'escalation', why })
  }

  /** What could not be kept is tried a last time. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#again)
    if (this.#isUnsettled) await this.#settle()
  }

  async #tighten(wish: ToldWish): Promise<Mode> {
    const { mode: from } = this.#current
    const flaw = transitionFlaw(from, wish.to, 'person')
    if (flaw) throw flaw
    await this.#putInForce(wish)
    return from
  }

  /** Judged in its turn, by what those before it left. Whoever wished it must have seen how strict the mode is. */
  async #follow(wish: ToldWish, seen: number): Promise<Mode> {
    this.#refuseOvertaken(wish, seen)
    const { mode: from } = this.#current
    if (isStricter(wish.to, from)) return this.#tighten(wish)
    if (wish.to === from) {
      if (this.#isUnsettled) await this.#settle()
      return from
    }
    const flaw = transitionFlaw(from, wish.to, 'person') ?? whyMissing(from, wish)
    if (flaw) throw flaw
    await this.#relax(wish, seen)
    return from
  }

  async #relax(wish: ToldWish, seen: number): Promise<void> {
    const { mode: from } = this.#current
    const record = this.#recordFrom(wish)
    // Recorded first: there must be no relaxation that nobody can see afterwards.
    await this.#pay()
    await this.#recording.take(() => this.#options.record(eventOf(from, wish)))
    await this.#writing.take(async () => {
      this.#refuseOvertaken(wish, seen)
      await this.#writeRelaxed(record, from)
      // Whoever tightened it meanwhile writes behind us.
      this.#refuseOvertaken(wish, seen)
      this.#enter(record)
      this.#kept = this.#version
      this.#trouble = undefined
    })
  }

  async #writeRelaxed(record: ModeRecord, from: Mode): Promise<void> {
    try {
      await writeMode(this.#options.state, record)
    } catch (error) {
      const why = `it could not be kept: ${messageOf(error)}`
      this.#owed.push(eventOf(record.mode, { to: from, by: 'automatic', via: 'gateway', why }))
      this.#tryAgain()
      throw error
    }
  }

  /** In memory first: a panic waits for no disk. */
  async #putInForce(wish: ToldWish): Promise<void> {
    this.#owed.push(eventOf(this.#current.mode, wish))
    this.#tightenings++
    this.#enter(this.#recordFrom(wish))
    await this.#settle()
  }

  #enter(record: ModeRecord): void {
    const { mode: from } = this.#current
    this.#current = record
    this.#version++
    for (const listener of this.#listeners) listener({ from, to: record.mode })
  }

  #recordFrom({ to, by, via, why }: ToldWish): ModeRecord {
    return { mode: to, since: this.#options.now().toISOString(), by, via, why }
  }

  get #isUnsettled(): boolean {
    return this.#kept !== this.#version || this.#owed.length > 0
  }

  /** Keeps and records what is in force already. Where the disk refuses, it is told and tried again. */
  async #settle(): Promise<void> {
    const [unkept, unrecorded] = await Promise.all([this.#keep(), this.#pay().then(noTrouble, unrecordedText)])
    const trouble = unkept ?? unrecorded
    if (trouble === undefined) this.#trouble = undefined
    else this.#complain(trouble)
    if (this.#isUnsettled) this.#tryAgain()
  }

  #keep(): Promise<string | undefined> {
    return this.#writing.take(async () => {
      const version = this.#version
      if (this.#kept === version) return undefined
      try {
        await writeMode(this.#options.state, this.#current)
        this.#kept = version
        return undefined
      } catch (error) {
        return this.#unkeptText(error)
      }
    })
  }

  /** Records what is owed, oldest first. */
  #pay(): Promise<void> {
    return this.#recording.take(async () => {
      for (let [event] = this.#owed; event !== undefined; [event] = this.#owed) {
        await this.#options.record(event)
        this.#owed.shift()
      }
    })
  }

  #unkeptText(error: unknown): string {
    const { mode } = this.#current
    const text = `${mode} is in force, but could not be kept: ${messageOf(error)}`
    if (mode !== 'LOCKDOWN') return `${text} A restart would bring back the mode before it.`
    try {
      emptyMode(this.#options.state)
      return `${text} A restart would bring it back without who set it and why.`
    } catch {
      return `${text} A restart would bring back the mode before it.`
    }
  }

  #complain(trouble: string): void {
    if (this.#trouble !== trouble) this.#options.onTrouble(trouble)
    this.#trouble = trouble
  }

  #tryAgain(): void {
    clearTimeout(this.#again)
    if (this.#closed) return
    this.#again = setTimeout(() => void this.#settle(), this.#options.pause ?? PAUSE)
    this.#again.unref()
  }

  #refuseOvertaken({ to }: ToldWish, seen: number): void {
    if (this.#tightenings === seen) return
    const { mode, by } = this.#current
    throw new SallyportError('MODE_REFUSED', `${to} was overtaken: ${by} has set ${mode} meanwhile.`, {
      hint: 'Look at `sallyport mode`, and decide again.',
    })
  }
}

/** A wish whose reason has been read; empty where none was given. */
type ToldWish = ModeWish & { readonly why: string }

/** Unknown means strictest. */
function recordOf(found: FoundMode, now: string): ModeRecord {
  if (found.found === 'record') return found.record
  const byItself = { since: now, by: 'automatic', via: 'gateway' }
  if (found.found === 'nothing') return { mode: 'NORMAL', ...byItself, why: '' }
  return { mode: 'LOCKDOWN', ...byItself, why: `which mode was in force is not known: ${found.path} ${found.flaw}` }
}

const damageText = ({ path, flaw }: DamagedMode): string =>
  `${path} ${flaw}, so that LOCKDOWN is in force. Once you know why, go back with ` +
  '`sallyport mode RECOVERY --why "…"`, then `sallyport mode NORMAL --why "…"`.'

const unrecordedText = (error: unknown): string => `The change of the mode could not be recorded: ${messageOf(error)}`

const noTrouble = (): undefined => undefined

function eventOf(from: Mode, { to, by, via, why }: ToldWish): SallyportEvent {
  return { type: 'MODE_CHANGED', from, to, by, via, why }
}

function whyMissing(from: Mode, { to, why }: ToldWish): SallyportError | undefined {
  if (why !== '') return undefined
  return new SallyportError('INVALID_PARAMS', `${to} is less strict than ${from}: that needs a reason.`, {
    hint: `Say why: \`sallyport mode ${to} --why "…"\``,
  })
}
