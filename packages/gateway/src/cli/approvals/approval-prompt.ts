import { messageOf, SallyportError } from '@sallyport/core'
import { formatEventDetail } from '../audit/event-detail.ts'
import type { CliContext } from '../cli-context.ts'
import type { AnsweredApproval, ApprovalReply, ApprovalView, GatewayClient } from '../gateway/gateway-client.ts'
import { askTerminal } from '../terminal/ask-terminal.ts'
import type { Screen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'
import { approvalFacts, approvalReminder, formatApprovalOutcome, formatChange } from './approval-text.ts'
import type { ApprovalEnd } from './approval-watch.ts'

const QUESTION = '[y] once  [s] for this session  [a] always  [n] no > '

const ANSWER_KEYS: Readonly<Record<string, AnsweredApproval['answer']>> = {
  y: 'once',
  yes: 'once',
  s: 'session',
  a: 'always',
  n: 'deny',
  no: 'deny',
}

const ENDED_CODES: ReadonlySet<string> = new Set(['APPROVAL_SETTLED', 'APPROVAL_UNKNOWN', 'GATEWAY_UNREACHABLE'])

export interface ApprovalPromptOptions {
  readonly context: CliContext
  readonly screen: Screen
  readonly reach: () => Promise<GatewayClient | undefined>
}

/** Asks about one request after the other. A request that somebody else answers is withdrawn. */
export class ApprovalPrompt {
  /** Rejects when the terminal is closed. */
  readonly closed: Promise<void>
  readonly #options: ApprovalPromptOptions
  readonly #queue: ApprovalView[] = []
  /** Requests that were answered here: their end is not printed again. */
  readonly #answeredHere = new Set<string>()
  #current: { readonly id: string; readonly withdrawn: AbortController } | undefined
  #fail: (error: unknown) => void = () => {}

  constructor(options: ApprovalPromptOptions) {
    this.#options = options
    this.closed = new Promise((_, reject) => {
      this.#fail = reject
    })
  }

  onRequested(approval: ApprovalView): void {
    this.#queue.push(approval)
    if (!this.#current) void this.#run().catch((error) => this.#fail(error))
  }

  onEnded(event: ApprovalEnd): void {
    const { approval: id, tool_name } = event
    const at = this.#queue.findIndex((approval) => approval.id === id)
    if (at >= 0) this.#queue.splice(at, 1)
    if (this.#answeredHere.delete(id)) return
    this.#options.screen.printMessage(`\n${visibleLine(`${id} ${tool_name}: ${formatEventDetail(event)}`)}`)
    if (this.#current?.id === id) this.#current.withdrawn.abort()
  }

  async #run(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const withdrawn = new AbortController()
      this.#current = { id: next.id, withdrawn }
      try {
        await this.#askAbout(next, withdrawn.signal)
      } catch (error) {
        if (!withdrawn.signal.aborted) throw error
      } finally {
        this.#current = undefined
      }
    }
  }

  async #askAbout(approval: ApprovalView, withdrawn: AbortSignal): Promise<void> {
    const { screen, context } = this.#options
    screen.print('\n')
    screen.printFacts(approvalFacts(approval, context.now()))
    const reminder = approvalReminder(approval)
    if (reminder !== undefined) screen.print(`\n${reminder}\n`)
    for (let isDone = false; !isDone; ) {
      const answer = ANSWER_KEYS[(await this.#ask(QUESTION, withdrawn)).toLowerCase()]
      if (answer === undefined) continue
      isDone = await this.#answer(approval.id, answer, withdrawn).catch((error) => this.#reportFailure(error))
    }
  }

  /** What the user types. A closed terminal ends the whole prompt. */
  async #ask(question: string, withdrawn: AbortSignal): Promise<string> {
    const typed = await askTerminal(question, this.#options.context, withdrawn)
    if (typed === undefined) throw new SallyportError('CALL_CANCELLED', 'The terminal was closed.')
    return typed
  }

  /** Prints the failure. Returns true if the request has ended: somebody else may have been faster. */
  #reportFailure(error: unknown): boolean {
    if (!(error instanceof SallyportError) || error.code === 'CALL_CANCELLED') throw error
    this.#options.screen.printMessage(`✗ ${visibleLine(messageOf(error))}`)
    return ENDED_CODES.has(error.code)
  }

  async #answer(id: string, answer: AnsweredApproval['answer'], withdrawn: AbortSignal): Promise<boolean> {
    const { screen, reach } = this.#options
    const client = await reach()
    if (!client) throw new SallyportError('GATEWAY_UNREACHABLE', 'The gateway has stopped, and the call with it.')
    if (answer === 'always' && !(await this.#confirmAlways(client, id, withdrawn))) return false
    const why = answer === 'deny' ? await this.#ask('Why? The agent sees this (may be empty) > ', withdrawn) : ''
    const reply: ApprovalReply = { answer, ...(why && { why }) }
    this.#answeredHere.add(id)
    try {
      screen.printMessage(formatApprovalOutcome(await client.answerApproval(id, reply)))
    } catch (error) {
      this.#answeredHere.delete(id)
      throw error
    }
    return true
  }

  /** A permanent change is shown before it is written. */
  async #confirmAlways(client: GatewayClient, id: string, withdrawn: AbortSignal): Promise<boolean> {
    const { screen } = this.#options
    const { change } = await client.answerApproval(id, { answer: 'always', dryRun: true })
    if (change) screen.printMessage(formatChange(change))
    return /^y(es)?$/i.test(await this.#ask('Write this? [y/N] > ', withdrawn))
  }
}
