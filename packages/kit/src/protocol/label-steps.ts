import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { findScope } from '../identity/identity.ts'
import type { Answer } from '../json-rpc.ts'
import type { Definitions, Tool } from '../offers/offers.ts'
import {
  findConnectRefusal,
  type LabelSettings,
  PRIVATE_DATA_META,
  releaseLabel,
} from '../private-data/private-data.ts'
import { ToolRefusedError } from '../tool-error.ts'

/** Is the label asked before the tool is run? Only a tool that reaches out has to wait for that. */
export const reachesOut = (tool: Tool): boolean => tool.permissions.includes('CONNECT')

/** A tool that reaches out is refused while the session holds private data, before anything of it runs. */
export async function assertMayReachOut(tool: Tool, { labels }: Definitions, signal: AbortSignal): Promise<void> {
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
    await assertMayReachOut(tool, definitions, context.signal)
    return value
  }
  return {
    ...context,
    elicit: (question) => judge(context.elicit(question)),
    sample: (request) => judge(context.sample(request)),
    listRoots: (options) => judge(context.listRoots(options)),
  }
}

/** The result with the label of its session. Throws where that is not durable: the result must then stay here. */
async function withLabel<Result extends object>(result: Result, labels: LabelSettings): Promise<Result> {
  const label = await findLabel(labels)
  return label === undefined ? result : labelled(result, label)
}

/** The same for answers that may be errors, whose texts can be private as well. */
export async function labelAnswer(answer: Answer, labels: LabelSettings): Promise<Answer> {
  if ('result' in answer) return { result: await withLabel(answer.result, labels) }
  const label = await findLabel(labels)
  if (label === undefined) return answer
  const data = isJsonObject(answer.error.data) ? answer.error.data : {}
  return { error: { ...answer.error, data: labelled(data, label) } }
}

async function findLabel(labels: LabelSettings): Promise<JsonObject | undefined> {
  const scope = findScope()
  return scope && releaseLabel(scope, labels)
}

function labelled<Carrier extends object>(
  carrier: Carrier,
  label: JsonObject,
): Carrier & { readonly _meta: JsonObject } {
  const meta = '_meta' in carrier && isJsonObject(carrier._meta) ? carrier._meta : {}
  return { ...carrier, _meta: { ...meta, [PRIVATE_DATA_META]: label } }
}
