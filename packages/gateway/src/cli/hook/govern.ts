import { isJsonObject, type JsonObject } from '@sallyport/core'
import { createSocketTransport } from '../gateway/api-transport.ts'
import { type HookAgent, type HookCall, NO_DECISION } from './hook-agent.ts'

/** An agent and its user wait for this. */
const TIMEOUT_MS = 2_000

export interface GovernOptions {
  readonly state: string
  /** What happens if no gateway answers. */
  readonly onNoAnswer: 'continue' | 'deny'
  readonly warn: (text: string) => void
}

/** Asks the running gateway about a built-in tool of the agent: its entries in tools.yaml and the mode decide. */
export async function governCall(agent: HookAgent, call: HookCall, options: GovernOptions): Promise<JsonObject> {
  try {
    const verdict = await requestVerdict(agent, call, options.state)
    const decided = isJsonObject(verdict.decidedBy) ? verdict.decidedBy.reason : undefined
    const reason = `Sallyport: ${typeof decided === 'string' ? decided : 'the rules of tools.yaml or the mode say so.'}`
    if (verdict.outcome === 'deny') return agent.deny(reason)
    return verdict.outcome === 'ask' ? agent.ask(reason) : NO_DECISION
  } catch (error) {
    const why = `the gateway gave no verdict (${error instanceof Error ? error.message : 'unknown'})`
    options.warn(`${why}. The call ${options.onNoAnswer === 'deny' ? 'is denied' : 'continues'}.`)
    if (options.onNoAnswer === 'continue') return NO_DECISION
    return agent.deny(
      `Sallyport gave no verdict, and without one this tool must not be called (--strict). Tell the user.`,
    )
  }
}

async function requestVerdict({ adapter }: HookAgent, { name, input }: HookCall, state: string): Promise<JsonObject> {
  const args = isJsonObject(input) ? { arguments: input } : {}
  const { status, body } = await createSocketTransport({ state })({
    method: 'POST',
    path: '/api/verdict',
    body: JSON.stringify({ agent: adapter.id, tool: name, ...args }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  const answer: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  if (status !== 200 || !isJsonObject(answer)) throw new Error(`it answered with ${status}`)
  return answer
}
