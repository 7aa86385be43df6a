import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { findScope, type RequestScope } from '../identity/identity.ts'
import type { Answer } from '../json-rpc.ts'
import type { Definitions, Tool } from '../offers/offers.ts'
import {
  finalizeLabel,
  findConnectRefusal,
  PRIVATE_DATA_META,
  readLabelEntry,
  watchUnowned,
} from '../private-data/private-data.ts'
import { ToolRefusedError, WithheldError } from '../tool-error.ts'
import { sealEarlierWrites } from '../workspace/workspace.ts'

/** Whether the label is read before the tool runs. Only tools with CONNECT must wait for it. */
export const needsConnect = (tool: Tool): boolean => tool.permissions.includes('CONNECT')

/** Refuses a tool with CONNECT, before it runs, if the session holds private data. */
export async function assertMayConnect(tool: Tool, { labels }: Definitions, signal: AbortSignal): Promise<void> {
  const scope = findScope()
  // Without an identity there is no session that could hold private data.
  if (scope === undefined) return
  const refusal = await findConnectRefusal(tool.definition.name, scope, labels.privateFrom)
  if (refusal !== undefined) throw new ToolRefusedError(refusal.reason, refusal.nextStep)
  signal.throwIfAborted()
}

/**
 * The context of a tool with CONNECT. A call that began before the session held private data continues, but answers
 * that it receives later may contain such data. So the label is rechecked for every answer to a question.
 */
export function guardAnswers(tool: Tool, context: CallContext, definitions: Definitions): CallContext {
  const recheckAfter = async <Value>(answer: Promise<Value>): Promise<Value> => {
    const value = await answer
    await assertMayConnect(tool, definitions, context.signal)
    return value
  }
  return {
    ...context,
    elicit: (question) => recheckAfter(context.elicit(question)),
    sample: (request) => recheckAfter(context.sample(request)),
    listRoots: (options) => recheckAfter(context.listRoots(options)),
  }
}

/** The label of the session in the form of `_meta`, for a question that a call asks. Rejects if it must not ask. */
export async function labelQuestion(
  scope: RequestScope,
  { labels }: Pick<Definitions, 'labels'>,
): Promise<JsonObject | undefined> {
  const label = await readLabelEntry(scope, labels)
  return label && { [PRIVATE_DATA_META]: label }
}

/** Adds the session's label to the answer of a call. */
export interface AnswerLabeler {
  /** Returns the answer with the label of its session. Throws a WithheldError if it must not be sent. */
  label(answer: Answer): Promise<Answer>
}

/** Opened before a handler runs, so that none of its statements about private data is lost. */
export function openAnswerLabeler(where: string, definitions: Definitions): AnswerLabeler {
  const scope = findScope()
  const findError = watchUnowned()
  return {
    async label(answer) {
      try {
        const reportLate = (late: unknown) => definitions.reportBug(`a label after ${where}`, late)
        const label = scope && (await finalizeLabel(scope, definitions.labels, reportLate))
        const error = findError()
        if (error !== undefined) throw error
        await sealEarlierWrites()
        return label === undefined ? answer : labelAnswer(answer, label)
      } catch (cause) {
        throw new WithheldError('The sensitivity of the result could not be recorded.', { cause })
      }
    },
  }
}

/** An error may be private as well. */
function labelAnswer(answer: Answer, label: JsonObject): Answer {
  if ('result' in answer) return { ...answer, result: addLabelMeta(answer.result, label) }
  const data = isJsonObject(answer.error.data) ? answer.error.data : {}
  return { error: { ...answer.error, data: addLabelMeta(data, label) } }
}

function addLabelMeta<Carrier extends object>(
  carrier: Carrier,
  label: JsonObject,
): Carrier & { readonly _meta: JsonObject } {
  const meta = '_meta' in carrier && isJsonObject(carrier._meta) ? carrier._meta : {}
  return { ...carrier, _meta: { ...meta, [PRIVATE_DATA_META]: label } }
}
