import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import type { RunningGateway } from '../harness/run-gateway.ts'
import { askApi, mintBearer, runProfiles, writeProfiles } from './profile-bench.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const META = {
  [VERSION]: '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const LISTEN = {
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: { notifications: { toolsListChanged: true }, _meta: META },
}

type Bearer = Record<string, string>

/** Resolves when a stream ends, whatever it says before. */
async function untilEnd(response: Response): Promise<void> {
  try {
    await response.body?.pipeTo(new WritableStream())
  } catch {
    // It was cut.
  }
}

/** All that it says until these words, or its end. */
async function untilSaid(response: Response, words: string): Promise<string> {
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes(words)) break
  }
  return text
}

describe('a token that is revoked', () => {
  let gateway: RunningGateway
  beforeAll(async () => {
    gateway = await runProfiles({ CODEX: { REVIEWER: { selected_mcp_tools: ['files/read'] } } })
  })
  afterAll(() => gateway.stop())

  const openLegacy = async (bearer: Bearer): Promise<Response> => {
    const { session } = await LegacyClient.open(gateway.mcp, bearer)
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    return fetch(gateway.mcp, { headers: { ...bearer, ...headers } })
  }

  const openModern = (bearer: Bearer): Promise<Response> => {
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-method': LISTEN.method,
      'mcp-protocol-version': '2026-07-28',
    }
    return fetch(gateway.mcp, { method: 'POST', headers: { ...bearer, ...headers }, body: JSON.stringify(LISTEN) })
  }

  it.each([
    ['the stream of a session', 'files', openLegacy],
    ['a subscription', 'docs', openModern],
  ])('ends %s, and leaves those of others', async (_, server, open) => {
    const session = `work-${server}`
    const mine = await mintBearer(gateway, { agent: 'codex', profile: 'reviewer', session })
    const other = await mintBearer(gateway, { agent: 'codex', profile: 'reviewer' })
    const [stream, kept] = [await open(mine), await open(other)]
    const { body } = await askApi(gateway, '/api/tokens')
    const { id } = body.tokens.find((token: { session: string }) => token.session === session)
    expect((await askApi(gateway, `/api/tokens/${id}`, { method: 'DELETE' })).status).toBe(200)
    await untilEnd(stream)
    writeProfiles(gateway, { CODEX: { REVIEWER: { selected_mcp_tools: [server] } } })
    expect(await untilSaid(kept, 'tools/list_changed')).toContain('tools/list_changed')
  })
})
