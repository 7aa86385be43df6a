import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { findScope } from '../identity/identity.ts'
import type { Answer } from '../json-rpc.ts'
import type { Definitions, Tool } from '../offers/offers.ts'
import { finalizeLabel, findConnectRefusal, PRIVATE_DATA_META, watchUnowned } from '../private-data/private-data.ts'
import { ToolRefusedError, WithheldError } from '../tool-error.ts'

/** Is the label asked before the tool is run? Only a tool that reaches out has to wait for that. */
export const needsConnect = (tool: Tool): boolean => tool.permissions.includes('CONNECT')

/** A tool that reaches out is refused while the session holds private data, before anything of it runs. */
export async function assertMayConnect(tool: Tool, { labels }: Definitions, signal: AbortSignal): Promise<void> {
  const scope = findScope()
  // Where nobody is known, there is no session that could hold anything.
  if (scope === undefined) return
  const refusal = await findConnectRefusal(tool.definition.name, scope, labels.privateFrom)
  if (refusal !== undefined) throw new ToolRefusedError(refusal.reason, refusal.nextStep)
  signal.throwIfAborted()
}

/**
 * The context of a tool that reaches out: a call that had begun before the session held private data goes on, but what
 * it is told afterwards may be such data, so every answer to a question is judged like a call of its own.
 */
export function guardAnswers(tool: Tool, context: CallContext, definitions: Definitions): CallContext {
  const judge = async <Value>(answer: Promise<Value>): Promise<Value> => {
    const value = await answer
    await assertMayConnect(tool, definitions, context.signal)
    return value
  }
  return {
    ...context,
    elicit: (question) => judge(context.elicit(question)),
    sample: (request) => judge(context.sample(request)),
    listRoots: (options) => judge(context.listRoots(options)),
  }
}

/** What a call needs at its end to be released. */
export interface AnswerLabeler {
  /** The answer with the label of its session. Throws a WithheldError if that must stay here. */
  label(answer: Answer): Promise<Answer>
}

/** Taken before a handler runs: nothing that it says of private data from then on is lost. */
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
