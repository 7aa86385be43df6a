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

/** Asks about one request after the other. What somebody else answers is taken off the table. */
export class ApprovalPrompt {
  /** Ends when the terminal does. */
  readonly closed: Promise<void>
  readonly #options: ApprovalPromptOptions
  readonly #queue: ApprovalView[] = []
  /** Those that were answered here: their ends are no news. */
  readonly #answeredHere = new Set<string>()
  #current: { readonly id: string; readonly taken: AbortController } | undefined
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
    if (this.#current?.id === id) this.#current.taken.abort()
  }

  async #run(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const taken = new AbortController()
      this.#current = { id: next.id, taken }
      try {
        await this.#askAbout(next, taken.signal)
      } catch (error) {
        if (!taken.signal.aborted) throw error
      } finally {
        this.#current = undefined
      }
    }
  }

  async #askAbout(approval: ApprovalView, taken: AbortSignal): Promise<void> {
    const { screen, context } = this.#options
    screen.print('\n')
    screen.printFacts(approvalFacts(approval, context.now()))
    const reminder = approvalReminder(approval)
    if (reminder !== undefined) screen.print(`\n${reminder}\n`)
    for (let isDone = false; !isDone; ) {
      const answer = ANSWER_KEYS[(await this.#ask(QUESTION, taken)).toLowerCase()]
      if (answer === undefined) continue
      isDone = await this.#answer(approval.id, answer, taken).catch((error) => this.#reportFailure(error))
    }
  }

  /** What somebody types; a terminal that was closed ends it all. */
  async #ask(question: string, taken: AbortSignal): Promise<string> {
    const said = await askTerminal(question, this.#options.context, taken)
    if (said === undefined) throw new SallyportError('CALL_CANCELLED', 'The terminal was closed.')
    return said
  }

  /** What could not be done is told. Whether there is anything left to ask about: somebody else may have been faster. */
  #reportFailure(error: unknown): boolean {
    if (!(error instanceof SallyportError) || error.code === 'CALL_CANCELLED') throw error
    this.#options.screen.printMessage(`✗ ${visibleLine(messageOf(error))}`)
    return ENDED_CODES.has(error.code)
  }

  async #answer(id: string, answer: AnsweredApproval['answer'], taken: AbortSignal): Promise<boolean> {
    const { screen, reach } = this.#options
    const client = await reach()
    if (!client) throw new SallyportError('GATEWAY_UNREACHABLE', 'The gateway has gone, and the call with it.')
    if (answer === 'always' && !(await this.#confirmAlways(client, id, taken))) return false
    const why = answer === 'deny' ? await this.#ask('Why? The agent is told (may be empty) > ', taken) : ''
    const wish: ApprovalReply = { answer, ...(why && { why }) }
    this.#answeredHere.add(id)
    try {
      screen.printMessage(formatApprovalOutcome(await client.answerApproval(id, wish)))
    } catch (error) {
      this.#answeredHere.delete(id)
      throw error
    }
    return true
  }

  /** What is written for good is shown first. */
  async #confirmAlways(client: GatewayClient, id: string, taken: AbortSignal): Promise<boolean> {
    const { screen } = this.#options
    const { change } = await client.answerApproval(id, { answer: 'always', dryRun: true })
    if (change) screen.printMessage(formatChange(change))
    return /^y(es)?$/i.test(await this.#ask('Write this? [y/N] > ', taken))
  }
}
