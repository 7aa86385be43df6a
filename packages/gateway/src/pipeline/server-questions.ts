import {
  ALLOW,
  checkSecrets,
  cutText,
  isJsonObject,
  type Json,
  type JsonObject,
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
import { type LabelStepOptions, labelStep } from './steps/label-step.ts'
import { checkToolLimits } from './steps/limits-step.ts'
import type { ToolLimits } from './steps/tool-limits.ts'

export interface ServerQuestionsOptions
  extends Omit<CallDeciderOptions, 'steps' | 'check'>,
    LabelStepOptions,
    Pick<CallPermitOptions, 'isTokenValid' | 'narrowed'> {
  readonly tools: ToolLimits
  readonly approvals: Pick<Approvals, 'grantFor' | 'request'>
  readonly ids: { callId(): string; traceId(): string }
  /** Whether a server may get the roots that its client answered with. */
  readonly admitRoots: (owner: RootsOwner, answer: Json) => Promise<boolean>
  /** Raises the label by what the server says with its question. Returns an error if it could not be stored. */
  readonly raiseLabel: (context: CallContext, claims: JsonObject) => Promise<SallyportError | undefined>
  /** Records an event. Returns an error if the question must not continue without the record. */
  readonly record: (event: Recordable) => Promise<SallyportError | undefined>
}

/** The steps for a question, after the steps for lists. The limits of the gateway are left out: its call has passed them. */
const questionSteps = ({ tools, approvals, ...options }: ServerQuestionsOptions): readonly Step<CallContext>[] => [
  withEnforceFlag(labelStep(options), ({ rules }) => rules.policy),
  withEnforceFlag(argumentsStep, ({ rules }) => rules.policy),
  { name: 'limits', evaluate: ({ rules, counted }) => checkToolLimits(rules, tools, counted) },
  withEnforceFlag(approveStep(approvals), ({ rules }) => rules.policy),
]

/** Questions of servers to clients. Each is decided like a call of a tool named `{server, sampling/createMessage}`. */
export class ServerQuestions {
  readonly #options: ServerQuestionsOptions
  readonly #decider: CallDecider
  /** Changed rules apply to every question that was not asked yet, even if it was allowed before. */
  readonly #permits: CallPermitOptions
  /** By server and method. */
  readonly #offers = new Map<string, Offer>()
  /** By the server that asks. */
  readonly #standing = new WeakMap<StandingClient, Map<string, AskClient>>()

  constructor(options: ServerQuestionsOptions) {
    this.#options = options
    this.#decider = new CallDecider({ ...options, check: () => ALLOW, steps: questionSteps(options) })
    const { rulesOf, isTokenValid, narrowed } = options
    const refuse: CallPermitOptions['refuse'] = (judged, error) => this.#recordRefusal(judged, error)
    this.#permits = { decider: this.#decider, rulesOf, isTokenValid, narrowed, refuse }
  }

  /** Asks the client of a call; `undefined` if the client cannot answer questions. */
  askDuring(call: Call): AskClient | undefined {
    const { client } = call
    if (!client || !canAnswerQuestions(client)) return undefined
    return (question) => this.#ask(question, { client, asked: this.#createCall(call, question), recorded: call })
  }

  /** Asks the same client outside of its calls. Such a question has its own record. */
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

  /** A modern server asks in its answer. A modern client gets that answer unchanged, unless a question in it is not allowed. */
  async checkAnswer(call: Call, answer: Answer): Promise<Answer> {
    if (answer.kind !== 'frame' || !canHoldQuestions(call, answer)) return answer
    const questions = readInputRequests(answer.frame)
    if (questions.length > MAX_QUESTIONS) return { kind: 'failure', error: tooManyQuestions(questions.length) }
    const permits: CallPermit[] = []
    for (const { method, params } of questions) {
      const asked = this.#createCall(call, { method, params, cancellation: call.cancellation })
      const permit = isQuestionMethod(method) ? await this.#permitAndRecord(asked, call) : unknownQuestion()
      if (permit instanceof SallyportError) return { kind: 'failure', error: questionDeniedError(asked, permit) }
      permits.push(permit)
    }
    // Rechecked, since all questions are sent together and the last one may have waited long for a person.
    for (const permit of permits) {
      const refusal = await recheckPermit(permit)
      if (refusal) return { kind: 'failure', error: questionDeniedError(permit.current.context.call, refusal) }
    }
    const mayTellSecrets = permits.every(({ current }) => current.context.rules.policy.secrets.value === 'allow')
    return mayTellSecrets ? answer : redactAnswer(answer)
  }

  /** The permit to ask, or why it is not allowed. */
  async #permitAndRecord(asked: Call, call: Call): Promise<CallPermit | SallyportError> {
    const permit = await this.#requestPermit(asked)
    if (permit instanceof SallyportError) return permit
    const { name, policy } = permit.current.context.rules
    this.#options.tools.enter(name, policy)
    this.#options.tools.leave(name, policy)
    return (await this.#options.record(askedRecord(call, asked.method))) ?? permit
  }

  async #ask(question: Question, { client, asked, recorded }: QuestionContext): Promise<QuestionAnswer> {
    const permit = await this.#requestPermit(asked, question.claims)
    if (permit instanceof SallyportError) return toQuestionRefusal(question, permit)
    const { rules } = permit.current.context
    const { record, tools } = this.#options
    tools.enter(rules.name, rules.policy)
    try {
      const unrecorded = await record(askedRecord(recorded, question.method))
      if (unrecorded ?? (await recheckPermit(permit))) return toQuestionRefusal(question)
      const startedAt = performance.now()
      const answer = await client.ask(redactQuestion(question, permit.current))
      const outcome = { success: 'result' in answer, latency: performance.now() - startedAt }
      const unfinished = await record(clientAnsweredRecord(recorded, question.method, outcome))
      // The answer may hold what the session has seen since the question.
      const { current } = permit
      const { holder, label } = current.context
      const refusal = unfinished ?? (holder.current === label ? undefined : await recheckPermit(permit))
      if (refusal ?? (await this.#findRootsRefusal(current, answer, client))) return toQuestionRefusal(question)
      return await this.#filterAnswer(current, answer, question)
    } finally {
      tools.leave(rules.name, rules.policy)
    }
  }

  /** Why a server must not get the roots of its client: with them, an in-flight call could reach other files. */
  async #findRootsRefusal(
    judged: JudgedCall,
    answer: QuestionAnswer,
    client: Client,
  ): Promise<SallyportError | undefined> {
    const { method, principal, offer } = judged.context.call
    if (method !== 'roots/list' || !('result' in answer)) return undefined
    if (await this.#options.admitRoots({ client, principal, offer }, answer.result)) return undefined
    return this.#recordRefusal(judged, new SallyportError('ARGUMENTS_FORBIDDEN', ROOTS_REFUSED))
  }

  /** The client's answer goes to the server, so secrets in it are handled like those in the arguments of a call. */
  async #filterAnswer(judged: JudgedCall, answer: QuestionAnswer, question: Question): Promise<QuestionAnswer> {
    const { secrets, enforce } = judged.context.rules.policy
    if (secrets.value === 'allow') return answer
    if (secrets.value === 'redact') return redactJson(answer) as QuestionAnswer
    const verdict = checkSecrets(answer)
    if (verdict.outcome !== 'deny' || !enforce.value) return answer
    await this.#recordRefusal(judged, new SallyportError(verdict.code, verdict.reason))
    return toQuestionRefusal(question)
  }

  /** Waits for a person if the rules require approval. A refusal is recorded. */
  async #requestPermit(asked: Call, claims?: JsonObject): Promise<CallPermit | SallyportError> {
    const before = await this.#decider.decide(asked)
    const unstored = claims && (await this.#options.raiseLabel(before.context, claims))
    if (unstored) return this.#recordRefusal(before, unstored)
    const first = claims === undefined ? before : await this.#decider.decide(asked)
    const problem = pageProblem(asked)
    if (problem !== undefined) return this.#recordRefusal(first, pageRefusal(problem))
    const judged = first.decision.outcome === 'ask' ? await this.#waitForApproval(asked, first) : first
    if (judged instanceof SallyportError) return this.#recordRefusal(first, judged)
    return judged.decision.outcome === 'allow'
      ? new CallPermit({ asked, judged }, this.#permits)
      : this.#recordRefusal(judged)
  }

  async #recordRefusal(judged: JudgedCall, error = toDenialError(judged)): Promise<SallyportError> {
    return (await this.#options.record(deniedRecord(judged, error))) ?? error
  }

  async #waitForApproval(asked: Call, judged: JudgedCall): Promise<JudgedCall | SallyportError> {
    const { context: subject, decision } = judged
    // What a client answers would leave with it, and nobody could read that before it is sent.
    if (decision.decisive?.verdict.outcome === 'ask' && decision.decisive.verdict.code) return toDenialError(judged)
    const { cancellation } = asked
    const grant = await this.#options.approvals.request(approvalSubject(subject), { cancellation })
    return grant instanceof SallyportError ? grant : this.#decider.decide(asked, { grant })
  }

  /** A question has its own id: its decision is separate from that of the call. */
  #createCall(
    { principal, traceId, offer, holder }: Pick<Call, 'principal' | 'traceId' | 'offer' | 'holder'>,
    question: Question,
  ): Call {
    const { method, params, cancellation } = question
    const key = `${offer.server} ${method}`
    const own = this.#offers.get(key) ?? questionOffer(offer.server, method)
    if (isQuestionMethod(method)) this.#offers.set(key, own)
    const id = this.#options.ids.callId()
    return { id, traceId, principal, method, offer: own, params, cancellation, holder }
  }
}

/** Whether this answer can contain questions. Answers about a task contain what the task is waiting for. */
export const canHoldQuestions = ({ method }: Pick<Call, 'method'>, answer: Answer): boolean =>
  answer.kind === 'frame' && (answer.frame.envelope.resultType === 'input_required' || method === 'tasks/get')

const ROOTS_REFUSED =
  'With the roots of the client, a relative path of an in-flight call could lead to a file that path rules forbid.'

interface QuestionContext {
  readonly client: Client
  readonly asked: Call
  /** The call in whose record the question is. */
  readonly recorded: Call
}

/** The question as the client sees it: without keys and tokens, unless an entry allows them. */
function redactQuestion(question: Question, { context: { rules } }: JudgedCall): Question {
  if (rules.policy.secrets.value === 'allow') return question
  const params = redactJson(question.params)
  return isJsonObject(params) && params !== question.params ? { ...question, params } : question
}

/** The server does not learn why: rules and the answers of people are not for it. Only its own mistakes are explained. */
function toQuestionRefusal({ method }: Pick<Question, 'method'>, refusal?: SallyportError): QuestionAnswer {
  if (refusal?.code === 'PAGE_REFUSED') return { error: { code: -32_602, message: refusal.message } }
  return { error: { code: -32_600, message: `The gateway does not allow ${method} here and now.` } }
}

/** Why the page of a question is not allowed. The URL is checked in every mode, since a client may show it anyway. */
function pageProblem({ method, params }: Pick<Call, 'method' | 'params'>): string | undefined {
  if (method !== 'elicitation/create' || (params.mode !== 'url' && params.url === undefined)) return undefined
  return pageUrlProblem(params.url)
}

const unknownQuestion = (): SallyportError =>
  new SallyportError('UPSTREAM_PROTOCOL', 'no client can be asked for this.')

/** The client gets this error instead of the answer with the question. */
const questionDeniedError = ({ offer, method }: Call, cause: SallyportError): SallyportError =>
  new SallyportError(
    cause.code,
    `Server ${offer.server} asks the client for ${toVisibleText(cutText(method, 100))} before it continues: ${cause.message}`,
    { cause },
  )
