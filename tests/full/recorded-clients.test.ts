import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { clientsOver, HttpReplay, readAnswer, readLines, recordingOf } from '../harness/recordings.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

type Json = Record<string, any>

const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

const ECHO = '{"message":"hi"}'
const META = 'io.modelcontextprotocol/'
const metaOf = ({ params }: Json): Json => params?._meta ?? {}
/** All that may come unasked. */
const EXPECTED = /^notifications\/(subscriptions\/acknowledged|(tools|prompts|resources)\/list_changed)$/

let gateway: RunningGateway
let receivedFile: string

beforeAll(async () => {
  gateway = await runGateway({ args: [] })
  receivedFile = join(gateway.home, 'told.jsonl')
  writeFileSync(receivedFile, '')
  const args = [fixture('recording-pipe.mjs'), receivedFile, fixture('hostile-server.mjs')]
  gateway.writeConfig({ mcp_servers: { everything: { command: process.execPath, args } } })
  const window = openWindow(gateway)
  await window.initialize()
  await eventually(
    () => window.toolNames(),
    (names) => names.includes('everything_echo'),
  )
  await window.leave()
})
afterAll(() => gateway?.stop())

/** The server got the call with what the agent says of it, under a progress token of ours. */
function expectCallAtServer(call: Json): void {
  const { progressToken, ...meta } = metaOf(call)
  const received = readLines(receivedFile).findLast(({ method }) => method === 'tools/call') ?? {}
  // The server is a legacy one, to which the envelope of the modern era means nothing.
  const own = Object.entries(meta).filter(([name]) => !name.startsWith(META))
  expect(metaOf(received)).toMatchObject(Object.fromEntries(own))
  if (progressToken !== undefined) expect(metaOf(received).progressToken).not.toBe(progressToken)
  expect(received.params).toMatchObject({ name: 'echo', arguments: { message: 'hi' } })
}

/** Each gets the revision that it asks for, and finds the tool that it calls. */
function expectAnswerOfItsEra({ method, params }: Json, answer: Json | undefined): void {
  const { result } = answer ?? {}
  if (method === 'initialize') expect(result.protocolVersion).toBe(params.protocolVersion)
  if (method === 'server/discover')
    expect(result.supportedVersions).toContain(metaOf({ params })[`${META}protocolVersion`])
  if (method !== 'tools/list') return
  expect(result.tools.map(({ name }: Json) => name)).toContain('everything_echo')
  expect('resultType' in result).toBe(`${META}protocolVersion` in metaOf({ params }))
}

describe(`${promise('GW-16')} what an agent sends over stdio`, () => {
  const isAck = ({ method }: Json): boolean => method === 'notifications/subscriptions/acknowledged'

  async function say(window: StdioClient, message: Json): Promise<Json | undefined> {
    const wants = message.method === 'subscriptions/listen' ? isAck : ({ id }: Json) => id === message.id
    const answer = message.id === undefined ? undefined : window.next(wants)
    window.child.stdin?.write(`${JSON.stringify(message)}\n`)
    return answer
  }

  it.each(clientsOver('stdio'))('is understood: %s', async (client) => {
    const window = openWindow(gateway)
    const recording = recordingOf(client, 'stdio')
    const call = recording.at(-1) ?? {}
    for (const message of recording.slice(0, -1)) {
      const answer = await say(window, message)
      expect(answer?.error).toBeUndefined()
      expectAnswerOfItsEra(message, answer)
    }
    expect(await say(window, call)).toMatchObject({ result: { content: [{ text: ECHO }] } })
    expectCallAtServer(call)
    expect(window.received.filter(({ id, method }) => id === undefined && !EXPECTED.test(method))).toEqual([])
    expect(await window.leave()).toBe(0)
  })

  it('is understood even if it begins in the modern era and continues in the legacy one', async () => {
    const [probe = {}] = recordingOf('claude-code-2.1.325', 'stdio')
    const window = openWindow(gateway)
    expect(await say(window, probe)).toMatchObject({ result: { supportedVersions: ['2026-07-28'] } })
    const recording = recordingOf('codex-0.166.0', 'stdio')
    for (const message of recording.slice(0, -1)) expect((await say(window, message))?.error).toBeUndefined()
    expect(await say(window, recording.at(-1) ?? {})).toMatchObject({ result: { content: [{ text: ECHO }] } })
    await window.leave()
  })
})

describe(`${promise('GW-16')} what an agent sends over HTTP`, () => {
  it.each(clientsOver('http'))('is understood: %s', async (client) => {
    const replay = new HttpReplay(gateway.mcp, gateway.token('agent'))
    for (const request of recordingOf(client, 'http')) {
      const response = await replay.say(request)
      // Droid looks first whether anybody is there, without a session.
      const isProbe = request.verb === 'GET' && request.headers['mcp-session-id'] === undefined
      if (isProbe) expect(response.status).toBe(405)
      else expect([request.verb, response.status]).toEqual([request.verb, expect.toSatisfy((code) => code < 300)])
      const { id, method } = request.message ?? {}
      const isStream = (request.verb === 'GET' && !isProbe) || method === 'subscriptions/listen'
      if (isStream) expect(response.headers.get('content-type')).toBe('text/event-stream')
      else if (method !== undefined && id === undefined) expect(await response.text()).toBe('')
      else if (id !== undefined) {
        const [preferred] = request.headers.accept.split(', ')
        expect(response.headers.get('content-type')).toBe(preferred)
        const answer = await readAnswer(response)
        expect(answer).toMatchObject({ id, result: expect.anything() })
        expectAnswerOfItsEra(request.message, answer)
      }
      if (method === 'tools/call') expectCallAtServer(request.message)
    }
    replay.close()
  })
})
