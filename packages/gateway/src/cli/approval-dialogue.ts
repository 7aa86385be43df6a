import { messageOf, SallyportError } from '@sallyport/core'
import { approvalFacts, approvalReminder, changeText, outcomeText } from './approval-text.ts'
import type { ApprovalEnd } from './approval-watch.ts'
import type { CliContext } from './cli-context.ts'
import { eventDetail } from './event-detail.ts'
import type { AnsweredApproval, ApprovalView, ApprovalWish, GatewayClient } from './gateway-client.ts'
import type { Screen } from './screen.ts'
import { askTerminal } from './terminal-question.ts'
import { visibleLine } from './terminal-text.ts'

const QUESTION = '[y] once  [s] for this session  [a] always  [n] no > '

const KEYS: Readonly<Record<string, AnsweredApproval['answer']>> = {
  y: 'once',
  yes: 'once',
  s: 'session',
  a: 'always',
  n: 'deny',
  no: 'deny',
}

const OVER: ReadonlySet<string> = new Set(['APPROVAL_SETTLED', 'APPROVAL_UNKNOWN', 'GATEWAY_UNREACHABLE'])

export interface DialogueOptions {
  readonly context: CliContext
  readonly screen: Screen
  readonly reach: () => Promise<GatewayClient | undefined>
}

/** Asks about one request after the other. What somebody else answers is taken off the table. */
export class ApprovalDialogue {
  /** Ends when the terminal does. */
  readonly over: Promise<void>
  readonly #options: DialogueOptions
  readonly #waiting: ApprovalView[] = []
  /** Those that were answered here: their ends are no news. */
  readonly #own = new Set<string>()
  #asked: { readonly id: string; readonly taken: AbortController } | undefined
  #fail: (error: unknown) => void = () => {}

  constructor(options: DialogueOptions) {
    this.#options = options
    this.over = new Promise((_, reject) => {
      this.#fail = reject
    })
  }

  requested(approval: ApprovalView): void {
    this.#waiting.push(approval)
    if (!this.#asked) void this.#run().catch((error) => this.#fail(error))
  }

  ended(event: ApprovalEnd): void {
    const { approval: id, tool_name } = event
    const at = this.#waiting.findIndex((approval) => approval.id === id)
    if (at >= 0) this.#waiting.splice(at, 1)
    if (this.#own.delete(id)) return
    this.#options.screen.say(`\n${visibleLine(`${id} ${tool_name}: ${eventDetail(event)}`)}`)
    if (this.#asked?.id === id) this.#asked.taken.abort()
  }

  async #run(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const taken = new AbortController()
      this.#asked = { id: next.id, taken }
      try {
        await this.#askAbout(next, taken.signal)
      } catch (error) {
        if (!taken.signal.aborted) throw error
      } finally {
        this.#asked = undefined
      }
    }
  }

  async #askAbout(approval: ApprovalView, taken: AbortSignal): Promise<void> {
    const { screen, context } = this.#options
    screen.data('\n')
    screen.facts(approvalFacts(approval, context.now()))
    const reminder = approvalReminder(approval)
    if (reminder !== undefined) screen.data(`\n${reminder}\n`)
    for (let isDone = false; !isDone; ) {
      const answer = KEYS[(await this.#ask(QUESTION, taken)).toLowerCase()]
      if (answer === undefined) continue
      isDone = await this.#answer(approval.id, answer, taken).catch((error) => this.#isOver(error))
    }
  }

  /** What somebody types; a terminal that was closed ends it all. */
  async #ask(question: string, taken: AbortSignal): Promise<string> {
    const said = await askTerminal(question, this.#options.context, taken)
    if (said === undefined) throw new SallyportError('CALL_CANCELLED', 'The terminal was closed.')
    return said
  }

  /** What could not be done is told. Whether there is anything left to ask about: somebody else may have been faster. */
  #isOver(error: unknown): boolean {
    if (!(error instanceof SallyportError) || error.code === 'CALL_CANCELLED') throw error
    this.#options.screen.say(`✗ ${visibleLine(messageOf(error))}`)
    return OVER.has(error.code)
  }

  async #answer(id: string, answer: AnsweredApproval['answer'], taken: AbortSignal): Promise<boolean> {
    const { screen, reach } = this.#options
    const client = await reach()
    if (!client) throw new SallyportError('GATEWAY_UNREACHABLE', 'The gateway has gone, and the call with it.')
    if (answer === 'always' && !(await this.#consent(client, id, taken))) return false
    const why = answer === 'deny' ? await this.#ask('Why? The agent is told (may be empty) > ', taken) : ''
    const wish: ApprovalWish = { answer, ...(why && { why }) }
    this.#own.add(id)
    try {
      screen.say(outcomeText(await client.answerApproval(id, wish)))
    } catch (error) {
      this.#own.delete(id)
      throw error
    }
    return true
  }

  /** What is written for good is shown first. */
  async #consent(client: GatewayClient, id: string, taken: AbortSignal): Promise<boolean> {
    const { screen } = this.#options
    const { change } = await client.answerApproval(id, { answer: 'always', dryRun: true })
    if (change) screen.say(changeText(change))
    return /^y(es)?$/i.test(await this.#ask('Write this? [y/N] > ', taken))
  }
}
