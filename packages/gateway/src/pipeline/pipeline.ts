import {
  type Decision,
  excerpt,
  isJsonObject,
  type NetworkMode,
  type Principal,
  SallyportError,
  type Sensitivity,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { LabelHolder, PendingApproval, RetryableApprovals } from '../governance/governance.ts'
import { isQuarantined, type ShapingFacts } from '../isolation/isolation.ts'
import { CallEgress } from '../sandbox/sandbox.ts'
import type { CallEnd, CallObserver, CallWatch } from '../telemetry/telemetry.ts'
import { parseFrame, type Upstream } from '../upstream/upstream.ts'
import { addFailedConnections } from './add-failed-connections.ts'
import { approvalSubject, privateCallSubject, withoutUnshown } from './approval-subject.ts'
import type { Answer, Call } from './call.ts'
import { CallLabels, type CallLabelsOptions } from './call-labels.ts'
import { CallPermit, type CallPermitOptions } from './call-permit.ts'
import { CallRecords, type CallRecordsOptions } from './call-records.ts'
import { CallResultShaper, type CallResultShaperOptions } from './call-result-shaper.ts'
import { ClientApproval, type ClientApprovalOptions } from './client-approval.ts'
import type { ClientRoots, RunningCall } from './client-roots.ts'
import { type DispatchOptions, dispatch } from './dispatch.ts'
import { InstanceRoute } from './instance-route.ts'
import { checkPages } from './page-url.ts'
import { formatFacts, isRpcError, reportEnd, toCallEnd, type UnknownCall } from './record.ts'
import { redactAnswer, redactCall } from './redact-secrets.ts'
import { toDenialError, withholdResult } from './refusal.ts'
import { ResourceUpdates } from './resource-updates.ts'
import type { ToolRules } from './rules/tool-rules.ts'
import { canHoldQuestions, ServerQuestions, type ServerQuestionsOptions } from './server-questions.ts'
import { type BlockedOffers, findBlockedOffers } from './steps/blocked-offers.ts'
import { CallDecider, type CallDeciderOptions, type JudgedCall } from './steps/call-decider.ts'
import { describeRemedies, type RemedyOptions } from './steps/label-step.ts'
import { recheckLimits } from './steps/limits-step.ts'
import { type CallStepsOptions, callSteps } from './steps/steps.ts'
import { WaitingCall } from './waiting-call.ts'

export type { Answer, Call } from './call.ts'
export { ClientRoots } from './client-roots.ts'
export { compileServerRules, Listings, type ListMethod, type OwnListsByServer, type VisibleOffers } from './listings.ts'
export type { PermittedUpdate } from './resource-updates.ts'
export type { ReviewedTool } from './review/reviewed-tool.ts'
export { OfferInspection, ToolDiscovery } from './review/tool-discovery.ts'
export { PROBLEM_KINDS } from './review/tool-problems.ts'
export { type DefinitionReview, ToolReview } from './review/tool-review.ts'
export { findUnknownIsolatedTools, findUnmatchedPatterns } from './review/unmatched-patterns.ts'
export { ActiveRules } from './rules/active-rules.ts'
export { collectRenames } from './rules/entry-index.ts'
export type { ToolRules } from './rules/tool-rules.ts'
export { findAlwaysApproveKey } from './steps/always-approve-key.ts'
export type { BlockedOffer, BlockedOffers } from './steps/blocked-offers.ts'
export type { CallContext } from './steps/call-context.ts'
export { CallGauge } from './steps/limits-step.ts'
export { runsDockerGateway } from './steps/meta-tools.ts'
export { PIN_STATES } from './steps/pin-state.ts'
export { callSteps, listingSteps } from './steps/steps.ts'
export { ToolLimits } from './steps/tool-limits.ts'

export interface PipelineOptions
  extends Omit<CallDeciderOptions, 'steps' | 'labels'>,
    CallStepsOptions,
    ClientApprovalOptions,
    Pick<CallResultShaperOptions, 'shaper' | 'audiences'>,
    CallLabelsOptions,
    CallRecordsOptions,
    RemedyOptions {
  readonly approvals: Pick<RetryableApprovals, 'grantFor' | 'request' | 'claim' | 'answer' | 'onChange'>
  readonly roots: ClientRoots
  /** Ids for questions of servers outside of a call. */
  readonly ids: ServerQuestionsOptions['ids']
  /** Whether the token with this id is neither revoked nor expired. */
  readonly isTokenValid: (token: string) => boolean
  /** Finds a server. A promise only if its catalog was stored earlier and the server is not started yet. */
  readonly upstream: (server: string) => Upstream | Promise<Upstream | undefined> | undefined
  /** A call has ended, in whatever way. */
  readonly onEnd: (end: CallEnd) => void
  /** Tells servers who calls. */
  readonly callers?: DispatchOptions['callers']
  /** Observes every call. */
  readonly observer?: CallObserver | undefined
}

/** A call that was allowed, on its way to its server and back. */
interface Run {
  /** The call as the caller made it: this one is sent. */
  readonly asked: Call
  /** The call that was decided about. If a call contains another one (mcp-exec), this is the inner call. */
  readonly call: Call
  readonly permit: CallPermit
  /** Whose label is recorded at the end: not that of a sub-agent. */
  readonly holder: LabelHolder
  readonly watch: CallWatch | undefined
  readonly startedAt: number
  /** How long its server had it. */
  serverTook?: number
  /** The caller and the offer, as JSON text for the records. */
  readonly facts: string
  /** Pending sync of the start record. */
  readonly syncing: Promise<SallyportError | undefined> | undefined
  /** `undefined` unless the server has an isolated instance. */
  readonly route: InstanceRoute | undefined
  /** `undefined` unless the server is in a sandbox. */
  readonly egress: CallEgress | undefined
  /** How the result was shaped; `undefined` if it was returned in full. */
  returned?: ShapingFacts | undefined
}

/** A step that an answer passes on its way out. It may reduce the answer, or replace it with a failure. */
type ResultStep = (run: Run, answer: Answer) => Answer | Promise<Answer>

/**
 * The life of every call, whoever makes it and over whatever transport.
 *
 * In: decide (`steps/steps.ts`), ask a person, count the call as in flight, record the start.
 * Send: the transport checks the permit of the call right before it writes it.
 * Out: `#resultSteps`, in that order; the last one records the end.
 */
export class Pipeline {
  /** Updates from servers about resources with subscribers. */
  readonly updates: ResourceUpdates
  readonly #options: PipelineOptions
  readonly #decider: CallDecider
  readonly #clientApproval: ClientApproval
  readonly #questions: ServerQuestions
  readonly #shaper: CallResultShaper
  readonly #records: CallRecords
  readonly #permits: CallPermitOptions

  readonly #labels: CallLabels

  readonly #resultSteps: readonly ResultStep[] = [
    (run, answer) => this.#raiseLabel(run, answer),
    (run, answer) => this.#checkServerRules(run, answer),
    ({ egress, permit }, answer) =>
      isQuarantined(permit.current.context.rules.shaping.plan) ? answer : addFailedConnections(answer, egress),
    ({ permit }, answer) =>
      permit.current.context.rules.policy.secrets.value === 'allow' ? answer : redactAnswer(answer),
    (run, answer) => this.#shape(run, answer),
    ({ permit }, answer) => withholdIfTokenEnded(permit, answer),
    (run, answer) => this.#recordEnd(run, answer),
    ({ permit }, answer) => this.#shaper.shapeFailure(permit.current, answer),
  ]

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#decider = new CallDecider({ ...options, steps: callSteps(options) })
    const records = new CallRecords(options)
    this.#records = records
    const { rulesOf, isTokenValid } = options
    const refuse: CallPermitOptions['refuse'] = (judged, error) => records.refuse(judged, error)
    const narrowed: CallPermitOptions['narrowed'] = (call) => this.#labels.narrowed(call)
    this.#permits = { decider: this.#decider, rulesOf, isTokenValid, refuse, narrowed }
    this.updates = new ResourceUpdates(options)
    this.#clientApproval = new ClientApproval(options)
    this.#labels = new CallLabels(options)
    this.#shaper = new CallResultShaper({ ...options, run: (call) => this.run(call) })
    this.#questions = new ServerQuestions({
      ...{ ...options, narrowed },
      admitRoots: (owner, answer) => options.roots.admit(owner, answer, (running) => this.#isStillAllowed(running)),
      record: async (event) => this.#records.write(event),
      raiseLabel: async (context, claims) => {
        const stored = this.#labels.ofQuestion(context, claims)
        return stored && toError(stored)
      },
    })
  }

  /** Decides about a call without making or recording it. */
  async decide(asked: Call): Promise<Decision> {
    return (await this.#decider.decide(this.#shaper.withoutIntent(asked))).decision
  }

  /** Decides about a call that the agent makes itself. A refusal is recorded. */
  async decideAndRecord(asked: Call): Promise<Decision> {
    const judged = await this.#decider.decide(asked)
    if (judged.decision.outcome === 'deny') await this.#refuse(judged)
    return judged.decision
  }

  /** Which tools of a session a label blocks: its own, or a higher one. */
  async findBlocked(principal: Principal, sensitivity?: Sensitivity): Promise<BlockedOffers> {
    return findBlockedOffers(principal, await this.#labels.preview(principal, sensitivity), this.#options)
  }

  /** Whether a call of this offer needs approval. */
  needsApproval(offer: Offer): boolean {
    return this.#options.rulesOf(offer).approval.value
  }

  /** Records a call to something that does not exist, before the answer is sent. */
  recordUnknown(asked: UnknownCall, error: SallyportError): void {
    this.#options.observer?.unknown(asked.method)
    this.#records.recordUnknown(asked, error)
  }

  /** Runs a call. If it contains another call (mcp-exec), the inner one is decided and recorded, and the outer one is sent. */
  run(given: Call): Promise<Answer> {
    const asked = this.#shaper.withoutIntent(given)
    const watch = this.#options.observer?.begin(asked)
    const { onEnd } = this.#options
    return reportEnd(this.#answer(asked, watch), (end) => {
      onEnd(end)
      watch?.ended(end)
    })
  }

  /** Not async: most calls are allowed at once, and an async function would cost more than the decision. */
  #answer(asked: Call, watch: CallWatch | undefined): Promise<Answer> {
    const judged = this.#decider.decide(asked)
    if (judged instanceof Promise || judged.decision.outcome !== 'allow') return this.#settle(asked, judged, watch)
    watch?.decided(judged.decision, judged.context.call)
    return this.#perform(asked, judged, watch)
  }

  async #settle(asked: Call, judged: JudgedCall | Promise<JudgedCall>, watch: CallWatch | undefined): Promise<Answer> {
    const first = await judged
    watch?.decided(first.decision, first.context.call)
    if (first.decision.outcome === 'allow') return this.#begin(asked, first, watch)
    if (first.decision.outcome === 'deny') return this.#refuse(first)
    if (isRefusedAtOnce(first)) return this.#claimApproval(asked, first, watch)
    const waiting = new WaitingCall(asked)
    const answer = await this.#answerAfterApproval(waiting, first, watch)
    waiting.tracker.markEnded(answer.kind === 'failure' ? answer.error : undefined)
    return answer
  }

  /** The call does not wait. If a person has approved exactly this call meanwhile, it is made; else the error says how. */
  async #claimApproval(asked: Call, first: JudgedCall, watch: CallWatch | undefined): Promise<Answer> {
    const waiting = new WaitingCall(asked)
    const { tracker } = waiting
    const claim = await this.#options.approvals.claim(privateCallSubject(first), { tracker })
    if (claim instanceof SallyportError) return this.#refuse(first, claim)
    if ('pending' in claim) {
      const { code, message } = toDenialError(first)
      const hint = describeRemedies(first.context, claim.pending?.id, this.#options)
      return this.#refuse(first, new SallyportError(code, message, { hint }))
    }
    const judged = await this.#decider.recheck(asked, { grant: claim })
    watch?.decided(judged.decision, judged.context.call)
    const isAllowed = judged.decision.outcome === 'allow'
    const answer = await (isAllowed ? this.#begin(asked, judged, watch) : this.#refuse(judged))
    tracker.markEnded(answer.kind === 'failure' ? answer.error : undefined)
    return answer
  }

  async #answerAfterApproval(waiting: WaitingCall, first: JudgedCall, watch: CallWatch | undefined): Promise<Answer> {
    const judged = await this.#requestApproval(waiting, first)
    if (judged instanceof SallyportError) return this.#refuse(first, judged)
    if (judged.decision.outcome === 'allow') return this.#begin(waiting.call, judged, watch)
    watch?.decided(judged.decision, judged.context.call)
    return this.#refuse(judged)
  }

  /** Waits for a person, then rechecks the call: much may have changed meanwhile. */
  async #requestApproval(waiting: WaitingCall, judged: JudgedCall): Promise<JudgedCall | SallyportError> {
    const { call } = waiting
    const onPending = (approval: PendingApproval): void => {
      waiting.begin()
      void this.#clientApproval.ask(call, approval)
    }
    const { cancellation } = call
    const { tracker } = waiting
    const subject = approvalSubject(judged.context)
    const grant = await this.#options.approvals.request(subject, { cancellation, onPending, tracker })
    waiting.end()
    if (grant instanceof SallyportError) return grant
    return waiting.abandoned ?? this.#decider.recheck(call, { grant })
  }

  /** Rechecks the limits: since the decision, other calls may have reached them. */
  #begin(asked: Call, judged: JudgedCall, watch: CallWatch | undefined): Promise<Answer> {
    const overLimit = recheckLimits(judged.context, this.#options)
    return overLimit ? this.#refuse(judged, overLimit) : this.#perform(asked, judged, watch)
  }

  async #perform(given: Call, decided: JudgedCall, watch: CallWatch | undefined): Promise<Answer> {
    const { judged, stored } = this.#labels.before(decided)
    const { holder } = judged.context
    // The calls of a sub-agent count for its own label, too.
    const asked = holder === decided.context.holder ? given : { ...given, holder }
    const { gauge, tools, roots } = this.#options
    const { call, rules } = judged.context
    // Before the first await: calls in the same event loop turn must count each other.
    gauge.enter(call.principal)
    tools.enter(rules.name, rules.policy)
    const running = roots.begin(asked, judged)
    try {
      const facts = formatFacts(call)
      const unrecorded = await this.#records.start(judged, facts)
      if (unrecorded) return { kind: 'failure', error: unrecorded }
      const unstored = stored && (await toError(stored))
      if (unstored) return { kind: 'failure', error: unstored }
      const found = this.#options.upstream(asked.offer.server)
      const upstream = found instanceof Promise ? await found : found
      const counterpart = upstream?.counterpart
      const permit = new CallPermit({ asked, judged, watch }, this.#permits)
      const syncing = this.#records.sync()
      const route = counterpart && new InstanceRoute(asked, { counterpart, isPrivate: this.#isPrivate })
      const run: Run = {
        asked,
        call,
        permit,
        holder: decided.context.holder,
        watch,
        facts,
        syncing,
        route,
        egress: isSandboxed(upstream) ? new CallEgress({ callId: call.id, traceId: call.traceId }) : undefined,
        startedAt: performance.now(),
      }
      let answer = await this.#send(run, upstream)
      run.serverTook = performance.now() - run.startedAt
      watch?.answered(toCallEnd(answer))
      const refusing = permit.end()
      if (refusing !== undefined) return { kind: 'failure', error: await refusing }
      for (const step of this.#resultSteps) {
        const next = step(run, answer)
        answer = next instanceof Promise ? await next : next
      }
      return route && answer.kind === 'frame' ? { ...answer, instance: route.instance } : answer
    } finally {
      gauge.leave(call.principal)
      tools.leave(rules.name, rules.policy)
      if (running) roots.end(running)
    }
  }

  readonly #isPrivate = (call: Call): boolean => this.#labels.isPrivate(call)

  readonly #networkModeOf = (call: Call): (() => NetworkMode) => this.#labels.networkModeOf(call)

  #send(run: Run, upstream: Upstream | undefined): Promise<Answer> {
    const { asked, permit, watch, route } = run
    const span = watch?.sent(route?.isPrivate ? upstream?.counterpart?.config : upstream?.config)
    const rules = permit.rulesForSending()
    const redacted = redactCall(asked, rules)
    const traced = span ? { ...redacted, span } : redacted
    const sent = permit.current.context.grant?.isForPrivateData ? withoutUnshown(traced) : traced
    return dispatch(sent, upstream, this.#dispatchOptions(run, rules))
  }

  /** Questions of the server to the client are decided and recorded like the call itself. */
  #dispatchOptions({ call, permit, route, egress }: Run, { limit, policy, shaping }: ToolRules): DispatchOptions {
    // Written out: every call passes here, and spreading costs more than all the rest.
    return {
      ask: this.#questions.askDuring(call),
      askStanding: this.#questions.askOutside(call),
      limit,
      mayTellSecrets: policy.secrets.value === 'allow',
      isQuarantined: isQuarantined(shaping.plan),
      permit,
      route,
      callers: this.#options.callers,
      raiseLabel: (answer) => this.#labels.after(permit.current.context, answer),
      networkModeOf: this.#networkModeOf,
      egress,
      mayConnect: permit.current.context.grant?.isForPrivateData,
    }
  }

  /**
   * A server may have its own rules. A call that they stop is recorded as denied, as if by a rule of the gateway. Questions
   * to the client in a server's answer are checked before the client sees them.
   */
  #checkServerRules({ call, permit }: Run, answer: Answer): Answer | Promise<Answer> {
    const refused = isRpcError(answer)
    if (!refused && !canHoldQuestions(call, answer)) return answer
    const { current } = permit
    // In a quarantine, questions are withheld with all other text of the server.
    if (isQuarantined(current.context.rules.shaping.plan)) return answer
    if (answer.kind !== 'frame' || !refused) return this.#questions.checkAnswer(call, answer)
    const isDocker = this.#options.listings.runsDockerGateway(call.offer.server)
    const refusal = (isDocker ? dockerRefusal(answer) : undefined) ?? checkPages(answer.frame)
    return refusal === undefined ? answer : this.#refuse(current, refusal)
  }

  /** The label that belongs to an answer is on disk before any of it leaves. */
  #raiseLabel({ permit }: Run, answer: Answer): Answer | Promise<Answer> {
    const stored = this.#labels.after(permit.current.context, answer)
    return stored === undefined
      ? answer
      : toError(stored).then((error) =>
          error === undefined ? answer : withholdResult(`its label could not be put in force: ${error.message}`, error),
        )
  }

  #shape(run: Run, answer: Answer): Answer | Promise<Answer> {
    const { current } = run.permit
    if (this.#labels.hasLostNarrowRules(current.context, run.holder)) return withholdResult(ISOLATION_CHANGED)
    return (
      this.#shaper.shape(run.asked, current, answer)?.then((shaped) => {
        run.returned = shaped.facts
        if (shaped.facts !== undefined) run.watch?.returned(shaped.facts)
        return shaped.answer
      }) ?? answer
    )
  }

  /** Completes the record before the answer is sent. An answer that cannot be recorded is withheld. */
  #recordEnd(run: Run, answer: Answer): Answer | Promise<Answer> {
    const { syncing } = run
    if (syncing === undefined) return this.#recordEndOf(run, answer, undefined)
    return syncing.then((unsynced) => this.#recordEndOf(run, answer, unsynced))
  }

  #recordEndOf(
    { call, facts, startedAt, serverTook, returned, holder, route, permit }: Run,
    answer: Answer,
    unsynced: SallyportError | undefined,
  ): Answer | Promise<Answer> {
    const latency = performance.now() - startedAt
    const recording = this.#records.end(call, answer, {
      facts,
      latency,
      serverTook,
      returned,
      label: holder.current,
      instance: route?.instance,
      resent: permit.wasResent,
    })
    const finish = (unrecorded = unsynced): Answer => (unrecorded ? withholdUnrecorded(unrecorded) : answer)
    return recording instanceof Promise ? recording.then(finish) : finish(recording)
  }

  /** Rechecks an in-flight call with the roots that its client has given meanwhile. */
  async #isStillAllowed({ asked, judged: { context: before } }: RunningCall): Promise<boolean> {
    const now = await this.#decider.recheck(asked, { grant: before.grant, counted: before.rules })
    return now.decision.outcome === 'allow'
  }

  async #refuse(judged: JudgedCall, error?: SallyportError): Promise<Answer> {
    return { kind: 'failure', error: await this.#records.refuse(judged, error) }
  }
}

const isSandboxed = (server: Upstream | undefined): boolean =>
  server !== undefined && 'sandbox' in server.config && server.config.sandbox !== undefined

/** Whether a call that needs approval is refused instead of waiting for it. */
const isRefusedAtOnce = ({ decision: { decisive } }: JudgedCall): boolean =>
  decisive?.verdict.outcome === 'ask' && decisive.verdict.code !== undefined

const toError = (work: Promise<void>): Promise<SallyportError | undefined> =>
  work.then(
    () => undefined,
    (cause: unknown) =>
      cause instanceof SallyportError
        ? cause
        : new SallyportError('STATE_UNUSABLE', 'The label of the session could not be stored.', { cause }),
  )

/** Withholds the result if the token was revoked or has expired. A failure passes: it contains no result. */
const withholdIfTokenEnded = ({ hasValidToken }: CallPermit, answer: Answer): Answer =>
  answer.kind === 'failure' || hasValidToken ? answer : withholdResult('its token was revoked, or expired, meanwhile.')

const ISOLATION_CHANGED =
  'its rules of isolation changed meanwhile, and the session does not have the label of its data.'

const withholdUnrecorded = (unrecorded: SallyportError): Answer =>
  withholdResult(`its end could not be recorded: ${unrecorded.message}`, unrecorded)

/** The error text of the Docker MCP Gateway when its own secret scan (`block_secrets`) stops a call. */
const SECRET_STOPPED = /\ba secret is being (passed to|returned by)\b/

const MAX_ERROR_BYTES = 10_000

/** A call that the Docker MCP Gateway refused by its own rule. This is a denial, not a failure of the tool. */
function dockerRefusal(answer: Answer): SallyportError | undefined {
  if (answer.kind !== 'frame') return undefined
  const { envelope } = answer.frame
  if (envelope.error === undefined || envelope.bytes > MAX_ERROR_BYTES) return undefined
  const { error } = parseFrame(answer.frame)
  const message = isJsonObject(error) && typeof error.message === 'string' ? error.message : ''
  const stopped = SECRET_STOPPED.exec(message)
  if (stopped === null) return undefined
  return new SallyportError('CALL_DENIED', `The Docker MCP Gateway stopped it: ${excerpt(message, 300)}.`, {
    hint:
      stopped[1] === 'passed to'
        ? 'Leave the secret out of the arguments.'
        : 'The tool was run, but its result holds a secret and is withheld.',
  })
}
