import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fixture, type GovernedBench, openGoverned } from '../governance/governed-bench.ts'
import { HttpSession, ModernHttp, ModernWindow, Window } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import { runOf } from '../questions/asking-bench.ts'

const KEY = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
const RUN = { requires_approval: false }
const META = { progressToken: 'mine', 'io.modelcontextprotocol/logLevel': 'info' }
const STEPS = [
  { progress: 1, message: 'signing in with KEY' },
  { say: { method: 'notifications/message', params: { level: 'info', data: { steps: ['none', 'used KEY'] } } } },
  { say: { method: 'notifications/message', params: { level: 'info', data: { KEY: 'a name' } } } },
  { say: { method: 'notifications/of-its-own', params: { KEY: 'in a method that nobody declared' } } },
]

/** What a client hears while a call runs. */
type Hear = (server: string) => Promise<readonly Message[]>

describe(`${promise('GOV-18')} notifications of servers`, () => {
  let bench: GovernedBench
  const windows: StdioClient[] = []
  const ways: Record<string, Hear> = {}

  beforeAll(async () => {
    const servers = {
      old: fixture('asking-server.mjs', '--key', KEY),
      new: fixture('asking-server.mjs', '--era', 'modern', '--key', KEY),
    }
    bench = await openGoverned({ servers, tools: { mcp__old__run: RUN, mcp__new__run: RUN } })
    for (let at = 0; at < 2; at++) windows.push(openWindow(bench.gateway))
    const [lines, modernLines] = windows as [StdioClient, StdioClient]
    await lines.initialize()
    const session = await HttpSession.open(bench.gateway.mcp, {})
    const modern = { capabilities: {}, meta: META }
    ways['a legacy client over HTTP'] = (server) => receivedBy(session, server)
    ways['a legacy client over lines'] = (server) => receivedBy(new Window(lines), server)
    ways['a modern client over HTTP'] = (server) => receivedBy(new ModernHttp(bench.gateway.mcp, modern), server)
    ways['a modern client over lines'] = async (server) => {
      const from = modernLines.received.length
      await receivedBy(new ModernWindow(modernLines, modern), server)
      return modernLines.received.slice(from).filter(isNotification)
    }
  })

  afterAll(async () => {
    for (const window of windows) await window.leave()
    await bench.close()
  })

  const isNotification = ({ id, method }: Message): boolean => id === undefined && !method.endsWith('list_changed')
  const receivedBy = async (client: Pick<Window, 'converse'>, server: string): Promise<readonly Message[]> => {
    const params = { ...runOf(server, ...STEPS), _meta: META }
    const { answer, notifications } = await client.converse(params, () => ({}))
    expect(answer.result?.content, JSON.stringify(answer)).toBeDefined()
    return notifications.filter(isNotification)
  }

  const CASES = ['a legacy client', 'a modern client'].flatMap((client) =>
    ['HTTP', 'lines'].flatMap((way) => ['old', 'new'].map((server) => [`${client} over ${way}`, server] as const)),
  )
  const expectedFor = (key: string): readonly Message[] => [
    {
      method: 'notifications/progress',
      params: { progressToken: 'mine', progress: 1, message: `signing in with ${key}` },
    },
    { method: 'notifications/message', params: { level: 'info', data: { steps: ['none', `used ${key}`] } } },
    { method: 'notifications/message', params: { level: 'info', data: { [key]: 'a name' } } },
  ]

  it.each(CASES)('carry no key to %s of server "%s"', async (way, server) => {
    expect(await ways[way]?.(server)).toMatchObject(expectedFor('[redacted: GitHub token]'))
  })

  it('carry keys if the entry of the tool allows it', async () => {
    await bench.writeTools({ mcp__old__run: { ...RUN, secrets: 'allow' }, mcp__new__run: RUN })
    for (const [way, server] of CASES) {
      const shown = server === 'old' ? KEY : '[redacted: GitHub token]'
      expect(await ways[way]?.(server), `${way} of ${server}`).toMatchObject(expectedFor(shown))
    }
  })
})
