import { isJsonObject, type JsonObject } from '@sallyport/core'
import { createSocketTransport } from '../gateway/api-transport.ts'
import { type HookAgent, type HookCall, NO_DECISION } from './hook-agent.ts'

/** An agent and its user wait for this. */
const TIMEOUT_MS = 2_000

export interface GovernOptions {
  readonly state: string
  /** What happens where no gateway answers. */
  readonly onNoAnswer: 'continue' | 'deny'
  readonly warn: (text: string) => void
}

/** What the running gateway says of a tool that the agent has built in: its entries in tools.yaml, and the mode. */
export async function governCall(agent: HookAgent, call: HookCall, governing: GovernOptions): Promise<JsonObject> {
  try {
    const verdict = await requestVerdict(agent, call, governing.state)
    const decided = isJsonObject(verdict.decidedBy) ? verdict.decidedBy.reason : undefined
    const reason = `Sallyport: ${typeof decided === 'string' ? decided : 'the rules of tools.yaml or the mode say so.'}`
    if (verdict.outcome === 'deny') return agent.deny(reason)
    return verdict.outcome === 'ask' ? agent.ask(reason) : NO_DECISION
  } catch (error) {
    const why = `the gateway gave no verdict (${error instanceof Error ? error.message : 'unknown'})`
    governing.warn(`${why}. The call ${governing.onNoAnswer === 'deny' ? 'is denied' : 'continues'}.`)
    if (governing.onNoAnswer === 'continue') return NO_DECISION
    return agent.deny(
      `Sallyport gave no verdict, and without one this tool is not to be called (--strict). Tell the user.`,
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
