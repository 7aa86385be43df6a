import { type Decision, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Approvals, PendingApproval } from '../governance/governance.ts'
import { isQuarantined } from '../isolation/isolation.ts'
import type { EventLog, Recordable } from '../store/store.ts'
import type { CallEnd, CallObserver, CallWatch } from '../telemetry/telemetry.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { approvalSubject } from './approval-subject.ts'
import { AskedClients, type AskedClientsOptions, mayAsk } from './asked-clients.ts'
import { syncRecords } from './audit-sync.ts'
import type { Answer, Call } from './call.ts'
import { endOf, isRefusal, tellEnd } from './call-end.ts'
import { ClientApproval, type ClientApprovalOptions } from './client-approval.ts'
import type { ClientRoots, RunningCall } from './client-roots.ts'
import { dispatch, type Manner } from './dispatch.ts'
import { dockerRefusal } from './docker-refusal.ts'
import { HandingBack, type HandingBackOptions } from './handing-back.ts'
import { HeardUpdates } from './heard-updates.ts'
import { Judge, type JudgeOptions, type Trial } from './judge.ts'
import { crowdedOut } from './limits.ts'
import { refusedPages } from './page-url.ts'
import {
  deniedRecord,
  type Ending,
  endRecord,
  factsText,
  startedRecord,
  type UnknownCall,
  unknownRecord,
} from './record.ts'
import { refusalOf, shutOut, withheld } from './refusal.ts'
import { SecondLook } from './second-look.ts'
import { type CallStepsOptions, callSteps } from './steps.ts'
import { argumentsOf, type ToolRules } from './tool-rules.ts'
import { WaitingCall } from './waiting-call.ts'
import { withoutSecrets, withoutSecretsIn } from './without-secrets.ts'

export type { Answer, Call } from './call.ts'
export type { Case } from './case.ts'
export { ClientRoots } from './client-roots.ts'
export type { HeardUpdate } from './heard-updates.ts'
export { CallGauge } from './limits.ts'
export { Listings, type ListMethod, type Sight } from './listings.ts'
export { runsDockerGateway } from './meta-tools.ts'
export { OfferInspection } from './offer-inspection.ts'
export { PIN_STATES } from './pin-state.ts'
export { renamesIn } from './renames.ts'
export type { ReviewedTool } from './reviewed-tool.ts'
export { RuleBook } from './rule-book.ts'
export { serverRules } from './server-rules.ts'
export { standingApproval } from './standing-approval.ts'
export { callSteps, listingSteps } from './steps.ts'
export { ToolDiscovery } from './tool-discovery.ts'
export { ToolLimits } from './tool-limits.ts'
export { PROBLEM_KINDS } from './tool-problems.ts'
export { type DefinitionReview, ToolReview } from './tool-review.ts'
export type { ToolRules } from './tool-rules.ts'
export { UNENFORCED_FIELDS } from './unenforced-fields.ts'
export { unknownIsolated } from './unknown-isolated.ts'
export { findUnmatchedPatterns } from './unmatched-patterns.ts'

export interface PipelineOptions
  extends Omit<JudgeOptions, 'steps'>,
    CallStepsOptions,
    ClientApprovalOptions,
    Pick<HandingBackOptions, 'returning'> {
  readonly approvals: Pick<Approvals, 'grantFor' | 'request' | 'answer' | 'onChange'>
  readonly roots: ClientRoots
  readonly log: EventLog
  /** For what servers ask, where no call has any. */
  readonly ids: AskedClientsOptions['ids']
  readonly audit: () => { readonly durability: 'process' | 'power'; readonly required: boolean }
  /** Whether the minted token of this id was neither revoked nor has ended. */
  readonly counts: (token: string) => boolean
  /** As much of the arguments as a record keeps. */
  readonly kept: (args: JsonObject) => Json | undefined
  /** At once, but for one that has been known from before and is not put to work yet. */
  readonly upstream: (server: string) => Upstream | Promise<Upstream | undefined> | undefined
  /** A bug of ours on the way to a server: the call is answered with its id, this says the rest. */
  readonly onBug: (error: SallyportError) => void
  /** A call came to its end, whatever that was. */
  readonly onEnd: (end: CallEnd) => void
  /** Wants to know of every call. */
  readonly observer?: CallObserver | undefined
}

/**
 * The life of every call, whoever makes it and over whatever transport:
 * decide → record the start → dispatch → take out secrets → shape → record the end → answer.
 */
export class Pipeline {
  /** What servers tell of the resources that somebody subscribed to. */
  readonly updates: HeardUpdates
  readonly #options: PipelineOptions
  readonly #judge: Judge
  readonly #clients: ClientApproval
  readonly #asked: AskedClients
  readonly #returns: HandingBack

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#judge = new Judge({ ...options, steps: callSteps(options) })
    this.updates = new HeardUpdates(options)
    this.#clients = new ClientApproval(options)
    this.#returns = new HandingBack({ ...options, run: (call) => this.run(call) })
    this.#asked = new AskedClients({
      ...options,
      admitRoots: (owner, answer) => options.roots.admit(owner, answer, (running) => this.#isAllowedStill(running)),
      record: async (event) => this.#grave(await this.#record(event)),
    })
  }

  /** What would be decided now, without anything else. */
  async decide(asked: Call): Promise<Decision> {
    return (await this.#judge.judge(this.#returns.withoutIntent(asked))).decision
  }

  /** What is decided of a call that its agent makes itself. A refusal is recorded. */
  async verdict(asked: Call): Promise<Decision> {
    const trial = await this.#judge.judge(asked)
    if (trial.decision.outcome === 'deny') await this.#refuse(trial)
    return trial.decision
  }

  /** What is decided and recorded is the call that is meant; what is sent is the one that was asked for. */
  run(given: Call): Promise<Answer> {
    const asked = this.#returns.withoutIntent(given)
    const watch = this.#options.observer?.begin(asked)
    const { onEnd } = this.#options
    return tellEnd(this.#answer(asked, watch), (end) => {
      onEnd(end)
      watch?.ended(end)
    })
  }

  /** Most calls are allowed at once: an async function more would cost each of them more than the decision does. */
  #answer(asked: Call, watch: CallWatch | undefined): Promise<Answer> {
    const judged = this.#judge.judge(asked)
    if (judged instanceof Promise || judged.decision.outcome !== 'allow') return this.#settle(asked, judged, watch)
    watch?.decided(judged.decision, judged.case.call)
    return this.#perform(asked, judged, watch)
  }

  async #settle(asked: Call, judged: Trial | Promise<Trial>, watch: CallWatch | undefined): Promise<Answer> {
    const first = await judged
    watch?.decided(first.decision, first.case.call)
    if (first.decision.outcome === 'allow') return this.#begin(asked, first, watch)
    if (first.decision.outcome === 'deny') return this.#refuse(first)
    const waiting = new WaitingCall(asked)
    const answer = await this.#afterAsking(waiting, first, watch)
    waiting.fate.ended(answer.kind === 'failure' ? answer.error : undefined)
    return answer
  }

  async #afterAsking(waiting: WaitingCall, first: Trial, watch: CallWatch | undefined): Promise<Answer> {
    const trial = await this.#ask(waiting, first)
    if (trial instanceof SallyportError) return this.#refuse(first, trial)
    if (trial.decision.outcome === 'allow') return this.#begin(waiting.call, trial, watch)
    watch?.decided(trial.decision, trial.case.call)
    return this.#refuse(trial)
  }

  /** Between the judgement and this turn others may have taken the last place. */
  #begin(asked: Call, trial: Trial, watch: CallWatch | undefined): Promise<Answer> {
    const crowded = crowdedOut(trial.case, this.#options)
    return crowded ? this.#refuse(trial, crowded) : this.#perform(asked, trial, watch)
  }

  async #perform(asked: Call, trial: Trial, watch: CallWatch | undefined): Promise<Answer> {
    const { gauge, tools, roots } = this.#options
    const { call, rules } = trial.case
    // Before anything is awaited: calls of the same turn must see each other.
    gauge.enter(call.principal)
    tools.enter(rules.name, rules.policy)
    const running = roots.begin(asked, trial)
    try {
      const facts = factsText(call)
      const unrecorded = this.#grave(await this.#record(startedRecord(trial, facts, this.#kept(trial))))
      if (unrecorded) return { kind: 'failure', error: unrecorded }
      const found = this.#options.upstream(asked.offer.server)
      const upstream = found instanceof Promise ? await found : found
      // A lockdown counts from the next dispatch on.
      const overruled = this.#overruled(asked, trial, watch)
      const refusal = overruled && (await overruled)
      if (refusal) return refusal
      const second = new SecondLook(() => this.#overruled(asked, trial, watch))
      const syncing = syncRecords(this.#options)
      const startedAt = performance.now()
      const span = watch?.sent(upstream?.config)
      asked.onSent?.()
      const sendingBy = this.#asOfNow(trial).case.rules
      const sent = withoutSecretsIn(asked, sendingBy)
      const said = await dispatch(span ? { ...sent, span } : sent, upstream, this.#mannerOf(call, sendingBy, second))
      watch?.answered(endOf(said))
      if (second.refusal) return second.refusal
      const heeded = isRefusal(said) || mayAsk(call, said) ? await this.#heed(trial, said) : said
      const now = this.#asOfNow(trial)
      const shown = now.case.rules.policy.secrets.value === 'allow' ? heeded : withoutSecrets(heeded)
      const whole = shown instanceof Promise ? await shown : shown
      const handing = this.#returns.handBack(asked, now, whole)
      const { answer, facts: returned } = handing === undefined ? { answer: whole } : await handing
      if (returned !== undefined) watch?.returned(returned)
      const unsynced = syncing && (await syncing)
      const latency = performance.now() - startedAt
      // The record is complete before the answer leaves; an answer that cannot be recorded does not leave.
      const unfinished =
        this.#grave(await this.#record(this.#end(call, answer, { facts, latency, returned }))) ?? unsynced
      return unfinished ? withheld(unfinished) : this.#returns.told(now, answer)
    } finally {
      gauge.leave(call.principal)
      tools.leave(rules.name, rules.policy)
      if (running) roots.end(running)
    }
  }

  /** With the roots that its client has given meanwhile. */
  async #isAllowedStill({ asked, trial: { case: before } }: RunningCall): Promise<boolean> {
    const now = await this.#judge.judgeAgain(asked, { grant: before.grant, counted: before.rules })
    return now.decision.outcome === 'allow'
  }

  /** Waits for a person, then judges again: much may have changed meanwhile. */
  async #ask(waiting: WaitingCall, trial: Trial): Promise<Trial | SallyportError> {
    const { call } = waiting
    const onPending = (approval: PendingApproval): void => {
      waiting.begin()
      void this.#clients.ask(call, approval)
    }
    const asking = { cancellation: call.cancellation, onPending, fate: waiting.fate }
    const grant = await this.#options.approvals.request(approvalSubject(trial.case), asking)
    waiting.end()
    if (grant instanceof SallyportError) return grant
    return waiting.abandoned ?? this.#judge.judgeAgain(call, { grant })
  }

  /** Whether a call of this needs somebody's approval, whoever that may be. */
  needsApproval(offer: Offer): boolean {
    return this.#options.rulesOf(offer).approval.value
  }

  /** With the rules that are in force now: a call may take long, and what somebody closed meanwhile is closed. */
  #asOfNow(trial: Trial): Trial {
    if (this.#judge.holds(trial)) return trial
    const { case: subject } = trial
    return { ...trial, case: { ...subject, rules: this.#options.rulesOf(subject.call.offer) } }
  }

  /** The rules, or what its server offers, changed since it was judged. What is no longer allowed is not sent. */
  #overruled(asked: Call, trial: Trial, watch?: CallWatch): Promise<Answer | undefined> | undefined {
    const { token } = asked.principal
    if (token !== undefined && !this.#options.counts(token)) return this.#refuse(trial, shutOut())
    return this.#judge.holds(trial) ? undefined : this.#judgeLate(asked, trial, watch)
  }

  async #judgeLate(asked: Call, { case: before }: Trial, watch?: CallWatch): Promise<Answer | undefined> {
    const now = await this.#judge.judgeAgain(asked, { grant: before.grant, counted: before.rules })
    if (now.decision.outcome === 'allow') return undefined
    watch?.decided(now.decision, now.case.call)
    return this.#refuse(now)
  }

  /**
   * A server may have rules of its own: what they stop was denied, as if by one of ours. And what it asks of the client
   * in its answer is judged before the client gets to see it.
   */
  async #heed(trial: Trial, answer: Answer): Promise<Answer> {
    const { call, rules } = trial.case
    // What a server asks in a quarantine is withheld with the rest of its words.
    if (isQuarantined(rules.returns.plan)) return answer
    if (answer.kind !== 'frame' || !isRefusal(answer)) return this.#asked.inAnswer(call, answer)
    const isDocker = this.#options.listings.runsDockerGateway(call.offer.server)
    const refusal = (isDocker ? dockerRefusal(answer) : undefined) ?? refusedPages(answer.frame)
    if (refusal === undefined) return answer
    await this.#record(deniedRecord(trial, refusal, this.#kept(trial)))
    return { kind: 'failure', error: refusal }
  }

  /** What a server asks of the client of a call is judged and recorded as the call itself is. */
  #mannerOf(call: Call, { limit, policy, returns }: ToolRules, { look }: SecondLook): Manner {
    const mayTellSecrets = policy.secrets.value === 'allow'
    const asking = { ask: this.#asked.during(call), askStanding: this.#asked.outside(call) }
    return { ...asking, limit, mayTellSecrets, isQuarantined: isQuarantined(returns.plan), look }
  }

  /** Somebody asked for what is not there: that too is known afterwards, and before the answer leaves. */
  recordUnknown(asked: UnknownCall, error: SallyportError): void {
    this.#options.observer?.unknown(asked.method)
    // Nothing was done and nothing is given away: the refusal stands where it cannot be recorded.
    this.#recordNow(unknownRecord(asked, error))
  }

  async #refuse(trial: Trial, error = refusalOf(trial)): Promise<Answer> {
    const unrecorded = this.#grave(await this.#record(deniedRecord(trial, error, this.#kept(trial))))
    return { kind: 'failure', error: unrecorded ?? error }
  }

  #kept({ case: { call } }: Trial): Json | undefined {
    return this.#options.kept(argumentsOf(call))
  }

  #end(call: Call, answer: Answer, end: Ending): Recordable {
    if (answer.kind === 'failure' && answer.error.code === 'INTERNAL') this.#options.onBug(answer.error)
    return endRecord(call, answer, end)
  }

  /** Shares a write with the other calls of this turn; one that is alone under way has nobody to wait for. */
  #record(event: Recordable): Promise<SallyportError | undefined> | SallyportError | undefined {
    const { gauge, log } = this.#options
    return gauge.inFlight > 1 ? log.appendSoon(event) : this.#recordNow(event)
  }

  /** A failure that nothing may go on after. */
  #grave(failure: SallyportError | undefined): SallyportError | undefined {
    return failure && this.#options.audit().required ? failure : undefined
  }

  #recordNow(event: Recordable): SallyportError | undefined {
    try {
      this.#options.log.append(event)
      return undefined
    } catch (error) {
      if (error instanceof SallyportError) return error
      throw error
    }
  }
}
