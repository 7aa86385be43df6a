import type { JsonObject, SallyportError } from '@sallyport/core'
import type { ModelUsage } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'

/** How that came about which goes back to the caller. */
export interface ShapingRun extends ModelUsage {
  /** `shaped`: by a preset or the cap alone. */
  readonly strategy: IsolationPlan['strategy'] | 'shaped'
  /** By which the whole can be read. */
  readonly handle?: string | undefined
  /** Whose words go back, where that is not the result as it is. */
  readonly writtenBy?: 'model' | 'tool'
  /** Why a bounded result is all that there is. */
  readonly failure?: SallyportError | undefined
}

/** What became of a result, for its record. */
export interface ShapingFacts extends ModelUsage, Pick<ShapingRun, 'strategy'> {
  readonly bytesIn: number
  readonly bytesOut: number
  /** Estimated: what the caller's model does not have to read. */
  readonly tokensKept: number
  readonly handle: string | undefined
  readonly fellBack: string | undefined
}

export const NO_USAGE: ModelUsage = Object.freeze({ turns: 0, tokensIn: 0, tokensOut: 0 })

const ISOLATION_META = 'sallyport/isolation'
const BYTES_PER_TOKEN = 4

export function toShapingFacts(
  { failure, handle, strategy, turns, tokensIn, tokensOut }: ShapingRun,
  { bytesIn, bytesOut }: Pick<ShapingFacts, 'bytesIn' | 'bytesOut'>,
): ShapingFacts {
  const tokensKept = Math.max(0, Math.round((bytesIn - bytesOut) / BYTES_PER_TOKEN))
  const used = { strategy, turns, tokensIn, tokensOut }
  return { ...used, bytesIn, bytesOut, tokensKept, handle, fellBack: failure?.code }
}

/** What the caller is told of the run; of shaping alone the kit has told it. */
export function markResult(
  result: JsonObject,
  run: ShapingRun,
  { runId, bytesIn }: { readonly runId: string; readonly bytesIn: number },
): JsonObject {
  if (run.strategy === 'shaped') return result
  const bytesOut = Buffer.byteLength(JSON.stringify(result))
  const told = isolationMeta(run, { runId, bytesIn, bytesOut })
  return { ...result, _meta: { ...(result._meta as JsonObject | undefined), ...told } }
}

interface RunSizes extends Pick<ShapingFacts, 'bytesIn' | 'bytesOut'> {
  readonly runId: string
}

/** The part of `_meta` that tells of a run, also of one that failed. */
export function isolationMeta(run: ShapingRun, { runId, bytesIn, bytesOut }: RunSizes): JsonObject {
  return {
    [ISOLATION_META]: {
      run_id: runId,
      strategy: run.strategy,
      ...(run.failure && { fell_back: run.failure.text }),
      ...(run.writtenBy !== undefined && { written_by: run.writtenBy }),
      turns: run.turns,
      tokens_in: run.tokensIn,
      tokens_out: run.tokensOut,
      bytes_in: bytesIn,
      bytes_out: bytesOut,
      ...(run.handle !== undefined && { handle: run.handle }),
    },
  }
}
