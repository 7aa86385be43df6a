import { type Json, type JsonObject, SallyportError } from '@sallyport/core'
import type { EventLog, Recordable } from '../store/store.ts'
import type { Answer, Call } from './call.ts'
import { deniedRecord, type EndDetails, endRecord, startedRecord, type UnknownCall, unknownRecord } from './record.ts'
import { toDenialError } from './refusal.ts'
import { argumentsOf } from './rules/tool-rules.ts'
import type { JudgedCall } from './steps/call-decider.ts'
import type { CallGauge } from './steps/limits-step.ts'

export interface CallRecordsOptions {
  readonly log: EventLog
  readonly gauge: CallGauge
  readonly audit: () => { readonly durability: 'process' | 'power'; readonly required: boolean }
  /** The part of the arguments that is recorded. */
  readonly argumentsToRecord: (args: JsonObject) => Json | undefined
  /** Reports a bug in the gateway. The caller gets only an incident id; this gets the details. */
  readonly onBug: (error: SallyportError) => void
}

type WriteResult = Promise<SallyportError | undefined> | SallyportError | undefined

/** Writes the records of calls. It returns an error only with `audit.required`: then the call must not continue. */
export class CallRecords {
  readonly #options: CallRecordsOptions

  constructor(options: CallRecordsOptions) {
    this.#options = options
  }

  /** Not async: two records are written for every call. */
  write(event: Recordable): WriteResult {
    const writing = this.#append(event)
    if (!(writing instanceof Promise)) return this.#ifRequired(writing)
    // If it is required, there is nothing to do with the outcome: an additional promise would cost more than the record.
    return this.#options.audit().required ? writing : writing.then((failure) => this.#ifRequired(failure))
  }

  /** `facts`: the output of `formatFacts`. */
  start(judged: JudgedCall, facts: string): WriteResult {
    return this.write(startedRecord(judged, facts, this.#argumentsToRecord(judged)))
  }

  end(call: Call, answer: Answer, ending: EndDetails): WriteResult {
    if (answer.kind === 'failure' && answer.error.code === 'INTERNAL') this.#options.onBug(answer.error)
    return this.write(endRecord(call, answer, ending))
  }

  /** Resolves to the error for the caller. */
  async refuse(judged: JudgedCall, error: SallyportError = toDenialError(judged)): Promise<SallyportError> {
    return (await this.write(deniedRecord(judged, error, this.#argumentsToRecord(judged)))) ?? error
  }

  /** Nothing was done and nothing is disclosed, so the call is refused even if this cannot be recorded. */
  recordUnknown(asked: UnknownCall, error: SallyportError): void {
    this.#appendNow(unknownRecord(asked, error))
  }

  /** Syncs the log to disk while the call runs, if records have to survive a power cut. */
  sync(): Promise<SallyportError | undefined> | undefined {
    const { audit, log } = this.#options
    if (audit().durability !== 'power') return undefined
    return log.sync().then(
      () => undefined,
      (cause: unknown) =>
        this.#ifRequired(
          cause instanceof SallyportError
            ? cause
            : new SallyportError('AUDIT_UNAVAILABLE', 'The record could not be synced to disk.', { cause }),
        ),
    )
  }

  #argumentsToRecord({ context: { call } }: JudgedCall): Json | undefined {
    return this.#options.argumentsToRecord(argumentsOf(call))
  }

  #ifRequired(failure: SallyportError | undefined): SallyportError | undefined {
    return failure && this.#options.audit().required ? failure : undefined
  }

  /** Shares one write with other calls of this event loop turn. If no other call is in flight, it writes at once. */
  #append(event: Recordable): WriteResult {
    const { gauge, log } = this.#options
    return gauge.inFlight > 1 ? log.appendSoon(event) : this.#appendNow(event)
  }

  #appendNow(event: Recordable): SallyportError | undefined {
    try {
      this.#options.log.append(event)
      return undefined
    } catch (error) {
      if (error instanceof SallyportError) return error
      throw error
    }
  }
}
