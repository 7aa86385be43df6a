import {
  ALLOW,
  checkSecrets,
  cutText,
  isJsonObject,
  type Json,
  redactJson,
  SallyportError,
  type Step,
  toVisibleText,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Approvals } from '../governance/governance.ts'
import type { Recordable } from '../store/store.ts'
import {
  type AskClient,
  type Client,
  canAnswerQuestions,
  isQuestionMethod,
  type Question,
  type QuestionAnswer,
  recheckPermit,
  type StandingClient,
} from '../upstream/upstream.ts'
import { approvalSubject } from './approval-subject.ts'
import type { Answer, Call } from './call.ts'
import { CallPermit, type CallPermitOptions } from './call-permit.ts'
import type { RootsOwner } from './client-roots.ts'
import { MAX_QUESTIONS, readInputRequests, tooManyQuestions } from './input-rounds.ts'
import { pageRefusal, pageUrlProblem } from './page-url.ts'
import { askedRecord, clientAnsweredRecord, deniedRecord } from './record.ts'
import { redactAnswer } from './redact-secrets.ts'
import { toDenialError } from './refusal.ts'
import { questionOffer } from './rules/governed-offer.ts'
import { withEnforceFlag } from './rules/with-enforce-flag.ts'
import { approveStep } from './steps/approve-step.ts'
import { argumentsStep } from './steps/arguments-step.ts'
import type { CallContext } from './steps/call-context.ts'
import { CallDecider, type CallDeciderOptions, type JudgedCall } from './steps/call-decider.ts'
import { checkToolLimits } from './steps/limits-step.ts'
import type { ToolLimits } from './steps/tool-limits.ts'

export interface ServerQuestionsOptions
  extends Omit<CallDeciderOptions, 'steps' | 'check'>,
    Pick<CallPermitOptions, 'isTokenValid'> {
  readonly tools: ToolLimits
  readonly approvals: Pick<Approvals, 'grantFor' | 'request'>
  readonly ids: { callId(): string; traceId(): string }
  /** Whether a server may be told the roots that its client answered with. */
  readonly admitRoots: (owner: RootsOwner, answer: Json) => Promise<boolean>
  /** Why nothing may go on that could not be recorded. */
  readonly record: (event: Recordable) => Promise<SallyportError | undefined>
}

/** What a question has to pass after what is asked of everything. Its call has passed the limits of the gateway. */
const questionSteps = ({ tools, approvals }: ServerQuestionsOptions): readonly Step<CallContext>[] => [
  withEnforceFlag(argumentsStep, ({ rules }) => rules.policy),
  { name: 'limits', evaluate: ({ rules, counted }) => checkToolLimits(rules, tools, counted) },
  withEnforceFlag(approveStep(approvals), ({ rules }) => rules.policy),
]

/** What servers ask of clients, each judged as a call of the tool `{server, sampling/createMessage}` would be. */
export class ServerQuestions {
  readonly #options: ServerQuestionsOptions
  readonly #decider: CallDecider
  /** Rules are valid for every question that was not put yet, whatever was decided before. */
  readonly #permits: CallPermitOptions
  /** Of each server and method. */
  readonly #offers = new Map<string, Offer>()
  /** By the server that asks. */
  readonly #standing = new WeakMap<StandingClient, Map<string, AskClient>>()

  constructor(options: ServerQuestionsOptions) {
    this.#options = options
    this.#decider = new CallDecider({ ...options, check: () => ALLOW, steps: questionSteps(options) })
    const { rulesOf, isTokenValid } = options
    const refuse: CallPermitOptions['refuse'] = (judged, error) => this.#recordRefusal(judged, error)
    this.#permits = { decider: this.#decider, rulesOf, isTokenValid, refuse }
  }

  /** Puts questions to the client of a call; none where it can be asked nothing. */
  askDuring(call: Call): AskClient | undefined {
    const { client } = call
    if (!client || !canAnswerQuestions(client)) return undefined
    return (question) => this.#ask(question, { client, asked: this.#createCall(call, question), recorded: call })
  }

  /** The same client outside of its calls. A question there has a record of its own. */
  askOutside({ client, principal, offer }: Call): AskClient | undefined {
    const standing = client?.standing
    if (!standing || !canAnswerQuestions(standing)) return undefined
    const byServer = this.#standing.get(standing) ?? new Map<string, AskClient>()
    const known = byServer.get(offer.server)
    if (known) return known
    const ask: AskClient = (question) => {
      const asked = this.#createCall({ principal, offer, traceId: this.#options.ids.traceId() }, question)
      return this.#ask(question, { client: standing, asked, recorded: asked })
    }
    this.#standing.set(standing, byServer.set(offer.server, ask))
    return ask
  }

  /** A modern server asks by its answer, which a modern client gets as it is: unless that may not be asked. */
  async checkAnswer(call: Call, answer: Answer): Promise<Answer> {
    if (answer.kind !== 'frame' || !canHoldQuestions(call, answer)) return answer
    const questions = readInputRequests(answer.frame)
    if (questions.length > MAX_QUESTIONS) return { kind: 'failure', error: tooManyQuestions(questions.length) }
    const permits: CallPermit[] = []
    for (const { method, params } of questions) {
      const asked = this.#createCall(call, { method, params, cancellation: call.cancellation })
      const noted = isQuestionMethod(method) ? await this.#permitAndRecord(asked, call) : unknownQuestion()
      if (noted instanceof SallyportError) return { kind: 'failure', error: questionDeniedError(asked, noted) }
      permits.push(noted)
    }
    // All of them leave together, and the last one may have waited long for a person.
    for (const permit of permits) {
      const refusal = await recheckPermit(permit)
      if (refusal) return { kind: 'failure', error: questionDeniedError(permit.current.context.call, refusal) }
    }
    const mayTellSecrets = permits.every(({ current }) => current.context.rules.policy.secrets.value === 'allow')
    return mayTellSecrets ? answer : redactAnswer(answer)
  }

  /** The right to ask, or why it may not be asked. */
  async #permitAndRecord(asked: Call, call: Call): Promise<CallPermit | SallyportError> {
    const permit = await this.#requestPermit(asked)
    if (permit instanceof SallyportError) return permit
    const { name, policy } = permit.current.context.rules
    this.#options.tools.enter(name, policy)
    this.#options.tools.leave(name, policy)
    return (await this.#options.record(askedRecord(call, asked.method))) ?? permit
  }

  async #ask(question: Question, { client, asked, recorded }: QuestionContext): Promise<QuestionAnswer> {
    const permit = await this.#requestPermit(asked)
    if (permit instanceof SallyportError) return toQuestionRefusal(question, permit)
    const { rules } = permit.current.context
    const { record, tools } = this.#options
    tools.enter(rules.name, rules.policy)
    try {
      const unrecorded = await record(askedRecord(recorded, question.method))
      if (unrecorded ?? (await recheckPermit(permit))) return toQuestionRefusal(question)
      const startedAt = performance.now()
      const answer = await client.ask(redactQuestion(question, permit.current))
      const told = { success: 'result' in answer, latency: performance.now() - startedAt }
      const unfinished = await record(clientAnsweredRecord(recorded, question.method, told))
      const { current } = permit
      if (unfinished ?? (await this.#findRootsRefusal(current, answer, client))) return toQuestionRefusal(question)
      return await this.#filterAnswer(current, answer, question)
    } finally {
      tools.leave(rules.name, rules.policy)
    }
  }

  /** Why a server must not be told the roots of its client: a call that it carries out would be another one with them. */
  async #findRootsRefusal(
    trial: JudgedCall,
    answer: QuestionAnswer,
    client: Client,
  ): Promise<SallyportError | undefined> {
    const { method, principal, offer } = trial.context.call
    if (method !== 'roots/list' || !('result' in answer)) return undefined
    if (await this.#options.admitRoots({ client, principal, offer }, answer.result)) return undefined
    return this.#recordRefusal(trial, new SallyportError('ARGUMENTS_FORBIDDEN', ROOTS_REFUSED))
  }

  /** What the client said goes to the server, as the arguments of a call do. */
  async #filterAnswer(trial: JudgedCall, answer: QuestionAnswer, question: Question): Promise<QuestionAnswer> {
    const { secrets, enforce } = trial.context.rules.policy
    if (secrets.value === 'allow') return answer
    if (secrets.value === 'redact') return redactJson(answer) as QuestionAnswer
    const verdict = checkSecrets(answer)
    if (verdict.outcome !== 'deny' || !enforce.value) return answer
    await this.#recordRefusal(trial, new SallyportError(verdict.code, verdict.reason))
    return toQuestionRefusal(question)
  }

  /** Waits for a person where the rules want one. What is refused is recorded. */
  async #requestPermit(asked: Call): Promise<CallPermit | SallyportError> {
    const first = await this.#decider.decide(asked)
    const problem = pageProblem(asked)
    if (problem !== undefined) return this.#recordRefusal(first, pageRefusal(problem))
    const judged = first.decision.outcome === 'ask' ? await this.#waitForApproval(asked, first) : first
    if (judged instanceof SallyportError) return this.#recordRefusal(first, judged)
    return judged.decision.outcome === 'allow'
      ? new CallPermit({ asked, judged }, this.#permits)
      : this.#recordRefusal(judged)
  }

  async #recordRefusal(trial: JudgedCall, error = toDenialError(trial)): Promise<SallyportError> {
    return (await this.#options.record(deniedRecord(trial, error))) ?? error
  }

  async #waitForApproval(asked: Call, { context: subject }: JudgedCall): Promise<JudgedCall | SallyportError> {
    const { cancellation } = asked
    const grant = await this.#options.approvals.request(approvalSubject(subject), { cancellation })
    return grant instanceof SallyportError ? grant : this.#decider.decide(asked, { grant })
  }

  /** Under an id of its own: what is decided about it is not what was decided about the call. */
  #createCall({ principal, traceId, offer }: Pick<Call, 'principal' | 'traceId' | 'offer'>, question: Question): Call {
    const { method, params, cancellation } = question
    const key = `${offer.server} ${method}`
    const own = this.#offers.get(key) ?? questionOffer(offer.server, method)
    if (isQuestionMethod(method)) this.#offers.set(key, own)
    return { id: this.#options.ids.callId(), traceId, principal, method, offer: own, params, cancellation }
  }
}

/** Whether a server may ask something by this answer; of a task it asks by what the task is waiting for. */
export const canHoldQuestions = ({ method }: Pick<Call, 'method'>, answer: Answer): boolean =>
  answer.kind === 'frame' && (answer.frame.envelope.resultType === 'input_required' || method === 'tasks/get')

const ROOTS_REFUSED =
  'With the roots of the client, a relative path of a call in progress could lead to where path rules do not let it.'

interface QuestionContext {
  readonly client: Client
  readonly asked: Call
  /** Whose record says that something was asked. */
  readonly recorded: Call
}

/** As the client sees it: what a server says to a person or a model holds no keys, unless an entry allows it. */
function redactQuestion(question: Question, { context: { rules } }: JudgedCall): Question {
  if (rules.policy.secrets.value === 'allow') return question
  const params = redactJson(question.params)
  return isJsonObject(params) && params !== question.params ? { ...question, params } : question
}

/** Whoever asks is not told why: the rules, and what people say of them, are none of its business. Its own mistakes are. */
function toQuestionRefusal({ method }: Pick<Question, 'method'>, refusal?: SallyportError): QuestionAnswer {
  if (refusal?.code === 'PAGE_REFUSED') return { error: { code: -32_602, message: refusal.message } }
  return { error: { code: -32_600, message: `The gateway does not allow ${method} here and now.` } }
}

/** What speaks against the page that somebody would be sent to. A client may show a URL whatever the mode says. */
function pageProblem({ method, params }: Pick<Call, 'method' | 'params'>): string | undefined {
  if (method !== 'elicitation/create' || (params.mode !== 'url' && params.url === undefined)) return undefined
  return pageUrlProblem(params.url)
}

const unknownQuestion = (): SallyportError =>
  new SallyportError('UPSTREAM_PROTOCOL', 'no client can be asked for this.')

/** The client would be asked by the answer to its call: it is told instead what it was not asked. */
const questionDeniedError = ({ offer, method }: Call, cause: SallyportError): SallyportError =>
  new SallyportError(
    cause.code,
    `Server ${offer.server} wants ${toVisibleText(cutText(method, 100))} of the client before it goes on: ${cause.message}`,
    { cause },
  )
