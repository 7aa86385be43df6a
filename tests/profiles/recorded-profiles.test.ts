import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientsOver, HttpReplay, readAnswer, recordingOf } from '../harness/recordings.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

type Json = Record<string, any>

const CLIENTS = clientsOver('http')
/** `codex-0.166.0-modern` is Codex. */
const agentOf = (client: string): string => client.replace(/-\d.*$/, '')
const SERVER = join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')

let gateway: RunningGateway

beforeAll(async () => {
  const place = makePlace({
    // Where nothing is cut, the reader of results comes with no tool.
    context: { cap: 'off' },
    mcp_servers: { everything: { command: process.execPath, args: [SERVER] } },
  })
  const profile = { REVIEWER: { selected_mcp_tools: ['everything/echo'] } }
  const executors = CLIENTS.map((client) => [agentOf(client).toUpperCase().replaceAll('-', '_'), profile])
  writeFileSync(join(place.home, 'profiles.json'), JSON.stringify({ executors: Object.fromEntries(executors) }))
  gateway = await runGateway({ place, args: [] })
})
afterAll(() => gateway?.stop())

async function mintToken(agent: string): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent, profile: 'reviewer' })
  const response = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
  return ((await response.json()) as Json).token
}

/** The same call, of another tool; in the modern era a header repeats its name. */
const callOf = (name: string, { headers, message, ...rest }: Json): Json => ({
  ...rest,
  headers: { ...headers, ...(headers['mcp-name'] !== undefined && { 'mcp-name': name }) },
  message: { ...message, id: 'again', params: { ...message.params, name } },
})

describe(`${promise('AG-11')} what an agent sees with the token of a profile`, () => {
  it.each(CLIENTS)('is what the profile selects: %s', async (client) => {
    const replay = new HttpReplay(gateway.mcp, await mintToken(agentOf(client)))
    const recording = recordingOf(client, 'http')
    const answers = new Map<string, Json>()
    for (const request of recording) {
      const response = await replay.say(request)
      const { id, method } = request.message ?? {}
      if (id !== undefined && method !== 'subscriptions/listen') answers.set(method, await readAnswer(response))
    }
    expect(answers.get('tools/list')?.result.tools.map(({ name }: Json) => name)).toEqual(['everything_echo'])
    expect(answers.get('tools/call')?.result.content).toEqual([{ type: 'text', text: '{"message":"hi"}' }])
    const refused = await replay.say(callOf('everything_pid', recording.at(-1) ?? {}))
    expect(JSON.stringify(await readAnswer(refused))).toContain(`The profile ${agentOf(client)}.reviewer`)
    replay.close()
  })
})
