import { modernRequest } from '../harness/mcp-client.ts'
import type { RunningGateway } from '../harness/run-gateway.ts'

interface SessionCall {
  readonly session: string
  readonly tool: string
  readonly args?: object
}

/** A new token each time: what counts is the session that it names. */
export async function mintSessionToken(gateway: RunningGateway, session: string): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'codex', session })
  const minted = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
  return ((await minted.json()) as { token: string }).token
}

/** The text of the result, or the error. */
export async function callInSession(
  gateway: RunningGateway,
  { session, tool, args = {} }: SessionCall,
): Promise<string> {
  const token = await mintSessionToken(gateway, session)
  const params = { name: tool, arguments: args }
  const { message } = await modernRequest(gateway.mcp, 'tools/call', params, { authorization: `Bearer ${token}` })
  return message.result?.content?.[0]?.text ?? JSON.stringify(message)
}
