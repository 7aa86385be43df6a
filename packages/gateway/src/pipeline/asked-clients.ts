import {
  ALLOW,
  cutText,
  isJsonObject,
  type Json,
  judgeSecrets,
  redactJson,
  SallyportError,
  type Step,
  visibleText,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Approvals } from '../governance/governance.ts'
import type { Recordable } from '../store/store.ts'
import {
  type AskClient,
  type Client,
  canBeAsked,
  isAskable,
  type Question,
  type QuestionAnswer,
  recheckPermit,
  type StandingClient,
} from '../upstream/upstream.ts'
import { approvalSubject } from './approval-subject.ts'
import { approve } from './approve.ts'
import type { Answer, Call } from './call.ts'
import { CallPermit, type CallPermitOptions } from './call-permit.ts'
import type { Case } from './case.ts'
import type { RootsOwner } from './client-roots.ts'
import { questionOffer } from './governed-offer.ts'
import { inputRequestsIn, MOST_QUESTIONS, tooManyQuestions } from './input-rounds.ts'
import { Judge, type JudgeOptions, type Trial } from './judge.ts'
import { judgeArguments } from './judge-arguments.ts'
import { judgeUse } from './limits.ts'
import { pageRefusal, pageUrlProblem } from './page-url.ts'
import { askedRecord, clientAnsweredRecord, deniedRecord } from './record.ts'
import { refusalOf } from './refusal.ts'
import type { ToolLimits } from './tool-limits.ts'
import { watched } from './watched.ts'
import { withoutSecrets } from './without-secrets.ts'

export interface AskedClientsOptions
  extends Omit<JudgeOptions, 'steps' | 'check'>,
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
const questionSteps = ({ tools, approvals }: AskedClientsOptions): readonly Step<Case>[] => [
  watched(judgeArguments, ({ rules }) => rules.policy),
  { name: 'limits', judge: ({ rules, counted }) => judgeUse(rules, tools, counted) },
  watched(approve(approvals), ({ rules }) => rules.policy),
]

/** What servers ask of clients, each judged as a call of the tool `{server, sampling/createMessage}` would be. */
export class AskedClients {
  readonly #options: AskedClientsOptions
  readonly #judge: Judge
  /** Rules are valid for every question that was not put yet, whatever was decided before. */
  readonly #permits: CallPermitOptions
  /** Of each server and method. */
  readonly #offers = new Map<string, Offer>()
  /** By the server that asks. */
  readonly #standing = new WeakMap<StandingClient, Map<string, AskClient>>()

  constructor(options: AskedClientsOptions) {
    this.#options = options
    this.#judge = new Judge({ ...options, check: () => ALLOW, steps: questionSteps(options) })
    const { rulesOf, isTokenValid } = options
    const refuse: CallPermitOptions['refuse'] = (judged, error) => this.#refused(judged, error)
    this.#permits = { judge: this.#judge, rulesOf, isTokenValid, refuse }
  }

  /** Puts questions to the client of a call; none where it can be asked nothing. */
  during(call: Call): AskClient | undefined {
    const { client } = call
    if (!client || !canBeAsked(client)) return undefined
    return (question) => this.#ask(question, { client, asked: this.#callOf(call, question), recorded: call })
  }

  /** The same client outside of its calls. A question there has a record of its own. */
  outside({ client, principal, offer }: Call): AskClient | undefined {
    const standing = client?.standing
    if (!standing || !canBeAsked(standing)) return undefined
    const byServer = this.#standing.get(standing) ?? new Map<string, AskClient>()
    const known = byServer.get(offer.server)
    if (known) return known
    const ask: AskClient = (question) => {
      const asked = this.#callOf({ principal, offer, traceId: this.#options.ids.traceId() }, question)
      return this.#ask(question, { client: standing, asked, recorded: asked })
    }
    this.#standing.set(standing, byServer.set(offer.server, ask))
    return ask
  }

  /** A modern server asks by its answer, which a modern client gets as it is: unless that may not be asked. */
  async inAnswer(call: Call, answer: Answer): Promise<Answer> {
    if (answer.kind !== 'frame' || !mayAsk(call, answer)) return answer
    const questions = inputRequestsIn(answer.frame)
    if (questions.length > MOST_QUESTIONS) return { kind: 'failure', error: tooManyQuestions(questions.length) }
    const permits: CallPermit[] = []
    for (const { method, params } of questions) {
      const asked = this.#callOf(call, { method, params, cancellation: call.cancellation })
      const noted = isAskable(method) ? await this.#noteAsked(asked, call) : unknownQuestion()
      if (noted instanceof SallyportError) return { kind: 'failure', error: unaskable(asked, noted) }
      permits.push(noted)
    }
    // All of them leave together, and the last one may have waited long for a person.
    for (const permit of permits) {
      const refusal = await recheckPermit(permit)
      if (refusal) return { kind: 'failure', error: unaskable(permit.now.case.call, refusal) }
    }
    const mayTellSecrets = permits.every(({ now }) => now.case.rules.policy.secrets.value === 'allow')
    return mayTellSecrets ? answer : withoutSecrets(answer)
  }

  /** The right to ask, or why it may not be asked. */
  async #noteAsked(asked: Call, call: Call): Promise<CallPermit | SallyportError> {
    const permit = await this.#permitted(asked)
    if (permit instanceof SallyportError) return permit
    const { name, policy } = permit.now.case.rules
    this.#options.tools.enter(name, policy)
    this.#options.tools.leave(name, policy)
    return (await this.#options.record(askedRecord(call, asked.method))) ?? permit
  }

  async #ask(question: Question, { client, asked, recorded }: Asking): Promise<QuestionAnswer> {
    const permit = await this.#permitted(asked)
    if (permit instanceof SallyportError) return refusedQuestion(question, permit)
    const { rules } = permit.now.case
    const { record, tools } = this.#options
    tools.enter(rules.name, rules.policy)
    try {
      const unrecorded = await record(askedRecord(recorded, question.method))
      if (unrecorded ?? (await recheckPermit(permit))) return refusedQuestion(question)
      const startedAt = performance.now()
      const answer = await client.ask(shownQuestion(question, permit.now))
      const told = { success: 'result' in answer, latency: performance.now() - startedAt }
      const unfinished = await record(clientAnsweredRecord(recorded, question.method, told))
      const { now } = permit
      if (unfinished ?? (await this.#inadmissible(now, answer, client))) return refusedQuestion(question)
      return await this.#answerOf(now, answer, question)
    } finally {
      tools.leave(rules.name, rules.policy)
    }
  }

  /** Why a server must not be told the roots of its client: a call that it carries out would be another one with them. */
  async #inadmissible(trial: Trial, answer: QuestionAnswer, client: Client): Promise<SallyportError | undefined> {
    const { method, principal, offer } = trial.case.call
    if (method !== 'roots/list' || !('result' in answer)) return undefined
    if (await this.#options.admitRoots({ client, principal, offer }, answer.result)) return undefined
    return this.#refused(trial, new SallyportError('ARGUMENTS_FORBIDDEN', INADMISSIBLE))
  }

  /** What the client said goes to the server, as the arguments of a call do. */
  async #answerOf(trial: Trial, answer: QuestionAnswer, question: Question): Promise<QuestionAnswer> {
    const { secrets, enforce } = trial.case.rules.policy
    if (secrets.value === 'allow') return answer
    if (secrets.value === 'redact') return redactJson(answer) as QuestionAnswer
    const verdict = judgeSecrets(answer)
    if (verdict.outcome !== 'deny' || !enforce.value) return answer
    await this.#refused(trial, new SallyportError(verdict.code, verdict.reason))
    return refusedQuestion(question)
  }

  /** Waits for a person where the rules want one. What is refused is recorded. */
  async #permitted(asked: Call): Promise<CallPermit | SallyportError> {
    const first = await this.#judge.judge(asked)
    const problem = pageProblem(asked)
    if (problem !== undefined) return this.#refused(first, pageRefusal(problem))
    const trial = first.decision.outcome === 'ask' ? await this.#approved(asked, first) : first
    if (trial instanceof SallyportError) return this.#refused(first, trial)
    return trial.decision.outcome === 'allow' ? new CallPermit({ asked, trial }, this.#permits) : this.#refused(trial)
  }

  async #refused(trial: Trial, error = refusalOf(trial)): Promise<SallyportError> {
    return (await this.#options.record(deniedRecord(trial, error))) ?? error
  }

  async #approved(asked: Call, { case: subject }: Trial): Promise<Trial | SallyportError> {
    const { cancellation } = asked
    const grant = await this.#options.approvals.request(approvalSubject(subject), { cancellation })
    return grant instanceof SallyportError ? grant : this.#judge.judge(asked, { grant })
  }

  /** Under an id of its own: what is decided about it is not what was decided about the call. */
  #callOf({ principal, traceId, offer }: Pick<Call, 'principal' | 'traceId' | 'offer'>, question: Question): Call {
    const { method, params, cancellation } = question
    const key = `${offer.server} ${method}`
    const own = this.#offers.get(key) ?? questionOffer(offer.server, method)
    if (isAskable(method)) this.#offers.set(key, own)
    return { id: this.#options.ids.callId(), traceId, principal, method, offer: own, params, cancellation }
  }
}

/** Whether a server may ask something by this answer; of a task it asks by what the task is waiting for. */
export const mayAsk = ({ method }: Pick<Call, 'method'>, answer: Answer): boolean =>
  answer.kind === 'frame' && (answer.frame.envelope.resultType === 'input_required' || method === 'tasks/get')

const INADMISSIBLE =
  'With the roots of the client, a relative path of a call in progress could lead to where path rules do not let it.'

interface Asking {
  readonly client: Client
  readonly asked: Call
  /** Whose record says that something was asked. */
  readonly recorded: Call
}

/** As the client sees it: what a server says to a person or a model holds no keys, unless an entry allows it. */
function shownQuestion(question: Question, { case: { rules } }: Trial): Question {
  if (rules.policy.secrets.value === 'allow') return question
  const params = redactJson(question.params)
  return isJsonObject(params) && params !== question.params ? { ...question, params } : question
}

/** Whoever asks is not told why: the rules, and what people say of them, are none of its business. Its own mistakes are. */
function refusedQuestion({ method }: Pick<Question, 'method'>, refusal?: SallyportError): QuestionAnswer {
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
const unaskable = ({ offer, method }: Call, cause: SallyportError): SallyportError =>
  new SallyportError(
    cause.code,
    `Server ${offer.server} wants ${visibleText(cutText(method, 100))} of the client before it goes on: ${cause.message}`,
    { cause },
  )
