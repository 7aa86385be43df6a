import { modernRequest } from '../harness/mcp-client.ts'
import type { RunningGateway } from '../harness/run-gateway.ts'

interface SessionCall {
  readonly session: string
  readonly tool: string
  readonly args?: object
}

/** The text of the result, or the error. A new token each time: what counts is the session that it names. */
export async function callInSession(
  gateway: RunningGateway,
  { session, tool, args = {} }: SessionCall,
): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'codex', session })
  const minted = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
  const { token } = (await minted.json()) as { token: string }
  const params = { name: tool, arguments: args }
  const { message } = await modernRequest(gateway.mcp, 'tools/call', params, { authorization: `Bearer ${token}` })
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}
