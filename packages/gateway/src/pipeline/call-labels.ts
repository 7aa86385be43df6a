import {
  BUILT_IN_SERVER,
  findPersonalData,
  isAtLeast,
  isPrivate,
  type JsonObject,
  type NetworkMode,
  networkModeFor,
  type Principal,
  redactJson,
  type Sensitivity,
} from '@sallyport/core'
import type { LabelSettings } from '../config/config.ts'
import {
  ChildSession,
  type LabelHolder,
  type LabelRaise,
  type PrivateDataset,
  PUBLIC_LABEL,
  type SessionLabel,
  type SessionLabels,
  UNTRUSTED_DATASET,
} from '../governance/governance.ts'
import { countNarrowValues } from '../isolation/isolation.ts'
import { type Frame, parseFrame } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import { readClaims } from './private-data-claims.ts'
import type { CallContext } from './steps/call-context.ts'
import type { JudgedCall } from './steps/call-decider.ts'

export interface CallLabelsOptions {
  /** If missing, every session is PUBLIC. */
  readonly labels?: SessionLabels | undefined
  readonly labelSettings: () => LabelSettings
  /** Whether what a server says about private data counts, and its text is not counted as untrusted. */
  readonly isTrusted: (server: string) => boolean
  /**
   * Resolves when no process of the session reaches more than its label allows; `undefined` if none does. Rejects if
   * that cannot be achieved.
   */
  readonly narrowing?: ((owner: Pick<Principal, 'user' | 'session'>) => Promise<void> | undefined) | undefined
}

/** A call with the label that it raised before it was sent. */
export interface LabelledCall {
  readonly judged: JudgedCall
  /** Resolves when what it raised is on disk and in force; `undefined` if there is nothing to wait for. */
  readonly stored: Promise<void> | undefined
}

/**
 * Raises the label of a session by the calls that it makes. What the rules say is raised before the call is sent, since
 * progress, logs and questions may carry data, too; what the server says, before its answer is released.
 */
export class CallLabels {
  readonly #options: CallLabelsOptions

  constructor(options: CallLabelsOptions) {
    this.#options = options
  }

  /** Whether the session of a call holds private data now. A label that is not in memory counts as private. */
  isPrivate({ holder, principal }: Call): boolean {
    const { labels, labelSettings } = this.#options
    const label = holder?.current ?? labels?.labelOf(principal)
    return label !== undefined && isPrivate(label.sensitivity, labelSettings().privateFrom)
  }

  /** What the session of a call may reach, whenever it is asked. A label that is not in memory counts as the strictest. */
  networkModeOf({ holder, principal }: Call): () => NetworkMode {
    const { labels, labelSettings } = this.#options
    // As long as it is held, there is one object for the label of a session.
    const held = holder ?? labels?.find(principal)
    return () => {
      const label = held?.current ?? labels?.labelOf(principal)
      return label === undefined ? 'FULL' : networkModeFor(label.sensitivity, labelSettings().privateFrom)
    }
  }

  /** The label of a session, or what it would be after somebody raised it. */
  async preview(principal: Principal, sensitivity?: Sensitivity): Promise<SessionLabel> {
    const current = (await this.#options.labels?.load(principal))?.current ?? PUBLIC_LABEL
    if (sensitivity === undefined || isAtLeast(current.sensitivity, sensitivity)) return current
    return { ...current, sensitivity, datasets: [...current.datasets, { name: 'a higher label', sensitivity }] }
  }

  /** Resolves when no process that has served the session, or its sub-agent, reaches more than it may. */
  narrowed({ holder, principal }: Pick<Call, 'holder' | 'principal'>): Promise<void> | undefined {
    const { narrowing } = this.#options
    const own = holder instanceof ChildSession ? narrowing?.(holder.principal) : undefined
    return waitForBoth(own, narrowing?.(principal))
  }

  /** No call is sent while a process of its session still reaches too much. */
  before(judged: JudgedCall): LabelledCall {
    const labelled = this.#raiseBefore(judged)
    const { holder, call } = labelled.judged.context
    const narrowed = this.narrowed({ holder, principal: call.principal })
    return narrowed === undefined ? labelled : { ...labelled, stored: waitForBoth(labelled.stored, narrowed) }
  }

  #raiseBefore(judged: JudgedCall): LabelledCall {
    const { context } = judged
    const found = this.#findRaise(context)
    const holder = this.#pickHolder(context)
    if ((found === undefined && holder === context.holder) || this.#options.labels === undefined)
      return { judged, stored: undefined }
    const from = holder.current
    const stored = found && this.#options.labels.raise(holder, found)
    const to = holder.current
    // If the label rose meanwhile, the permit sees that, and the call is rechecked before it is sent.
    if (holder !== context.holder || from === context.seen) {
      const raised = from === to ? context.raised : { from: context.label, to }
      return { judged: { ...judged, context: { ...context, holder, seen: to, raised } }, stored }
    }
    return { judged, stored }
  }

  /** Resolves when the label that belongs to the answer is on disk. Rejects if the answer must not be released. */
  after(context: CallContext, answer: Answer): Promise<void> | undefined {
    if (answer.kind !== 'frame') return undefined
    const { detect } = this.#options.labelSettings()
    const { server } = context.call.offer
    const claimed = this.#options.isTrusted(server) ? readClaims(server, answer) : NO_DATASETS
    return this.#raiseFound(context, claimed, findInResult(server, answer.frame, detect))
  }

  /** The same for a question, which the server asks before it answers. */
  ofQuestion(context: CallContext, claims: JsonObject): Promise<void> | undefined {
    const { server } = context.call.offer
    return this.#raiseFound(context, this.#options.isTrusted(server) ? readClaims(server, { claims }) : NO_DATASETS)
  }

  #raiseFound(
    { holder, call }: CallContext,
    claimed: readonly PrivateDataset[],
    detected: readonly PrivateDataset[] = NO_DATASETS,
  ): Promise<void> | undefined {
    const stored = this.#raiseBy({ holder, call }, claimed, detected)
    return waitForBoth(stored, this.narrowed({ holder, principal: call.principal }))
  }

  #raiseBy(
    { holder, call }: Pick<CallContext, 'holder' | 'call'>,
    claimed: readonly PrivateDataset[],
    detected: readonly PrivateDataset[],
  ): Promise<void> | undefined {
    const { labels } = this.#options
    if (labels === undefined) return undefined
    if (claimed.length + detected.length === 0) return labels.settle(holder)
    const reason = claimed.length > 0 ? `${call.offer.server} says so` : 'its result was searched'
    return labels.raise(holder, { datasets: [...claimed, ...detected], reason, call: callFactsOf(call) })
  }

  /**
   * If only values of a schema that cannot carry a text come back, the sub-agent takes the label, and the session stays
   * as it is. In a session that is private already, the sub-agent has at least that label. Many such values could spell
   * out a text, so a session gets a limited number of them.
   */
  #pickHolder({ call, holder, rules }: CallContext): LabelHolder {
    const { labels } = this.#options
    if (labels === undefined || holder instanceof ChildSession || call.offer.kind !== 'tool') return holder
    const values = countNarrowValues(rules.shaping.plan)
    if (values === undefined || !labels.mayTakeNarrowValues(holder, values)) return holder
    return labels.createChild(holder, call.principal, call.id)
  }

  /** Whether the sub-agent of this call took the label, but by the current rules more than narrow values would come back. */
  hasLostNarrowRules({ holder, rules }: CallContext, session: LabelHolder): boolean {
    return holder !== session && countNarrowValues(rules.shaping.plan) === undefined
  }

  #findRaise({ call, rules }: CallContext): LabelRaise | undefined {
    const found = rules.findSensitivity(call)
    const { server } = call.offer
    const isUntrusted =
      this.#options.labelSettings().untrusted && server !== BUILT_IN_SERVER && !this.#options.isTrusted(server)
    if (found === undefined) {
      if (!isUntrusted) return undefined
      const reason = `${server} is not trusted: its text may hold instructions`
      return { datasets: [UNTRUSTED_DATASET], reason, call: callFactsOf(call) }
    }
    const { dataset, reason, rule } = found
    const datasets = isUntrusted ? [dataset, UNTRUSTED_DATASET] : [dataset]
    return { datasets, reason, rule, call: callFactsOf(call) }
  }
}

const NO_DATASETS: readonly PrivateDataset[] = []

/** `undefined` if there is nothing to wait for. */
function waitForBoth(one: Promise<void> | undefined, other: Promise<void> | undefined): Promise<void> | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Promise.all([one, other]).then(() => undefined)
}

const callFactsOf = ({ id, traceId, offer }: Call) => ({
  call_id: id,
  trace_id: traceId,
  server: offer.server,
  tool_name: offer.recordName,
})

/** What the detectors find in an answer. Off by default, since it reads the whole answer. */
function findInResult(server: string, frame: Frame, detect: LabelSettings['detect']): readonly PrivateDataset[] {
  if (detect.length === 0) return NO_DATASETS
  const message = parseFrame(frame)
  const found: PrivateDataset[] = []
  if (detect.includes('secrets') && redactJson(message) !== message)
    found.push({ name: `${server}: a key or token`, sensitivity: 'SECRET' })
  // Printed again, so that no escape hides anything.
  const personal = detect.includes('pii') ? findPersonalData(JSON.stringify(message)) : undefined
  if (personal !== undefined) found.push({ name: `${server}: ${personal}`, sensitivity: 'CONFIDENTIAL' })
  return found
}
