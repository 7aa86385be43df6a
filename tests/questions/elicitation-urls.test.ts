import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fixture, type GovernedBench, openGoverned } from '../governance/governed-bench.ts'
import { type AskedClient, HttpSession, ModernHttp } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { runOf } from './asking-bench.ts'

const PUPPET = join(REPOSITORY, 'tests/fixtures/puppet-server.mjs')
const puppet = (era: string): object => ({ command: process.execPath, args: [PUPPET, 'stdio', era], era })
const SERVERS = {
  old: fixture('asking-server.mjs'),
  new: fixture('asking-server.mjs', '--era', 'modern'),
  'failing-old': puppet('legacy'),
  'failing-new': puppet('modern'),
}
const FREE = { requires_approval: false, permission: ['READ'] }
const TOOLS = {
  mcp__old__run: FREE,
  mcp__new__run: FREE,
  'mcp__failing-old__say': FREE,
  'mcp__failing-new__say': FREE,
}
const ABLE = { elicitation: { form: {}, url: {} } }
const GOOD = 'https://example.org/sign?state=1'
const BAD = [
  'javascript:alert(document.domain)',
  'data:text/html,<b>sign</b>',
  'file:///etc/passwd',
  'vscode://sign/in',
  'http://example.org/sign',
  'https://example.org@evil.example/sign',
  'https://example.org/\u202engis',
  '',
]
const WAYS = ['legacy', 'modern'].flatMap((era) => ['old', 'new'].map((server) => ({ era, server })))

const page = (url: string, mode: string | undefined = 'url'): Message => ({
  method: 'elicitation/create',
  params: { ...(mode !== undefined && { mode }), message: 'Sign in', elicitationId: 'e-1', url },
})

describe(`${promise('GW-26')} a page that a server wants somebody to open`, () => {
  let bench: GovernedBench
  const clients = new Map<string, AskedClient>()

  beforeAll(async () => {
    bench = await openGoverned({ servers: SERVERS, tools: TOOLS })
    clients.set('legacy', await HttpSession.open(bench.gateway.mcp, ABLE))
    clients.set('modern', new ModernHttp(bench.gateway.mcp, { capabilities: ABLE }))
  })

  afterAll(() => bench.close())

  const converse = (era: string, params: Message) =>
    (clients.get(era) as AskedClient).converse(params, () => ({ result: { action: 'accept' } }))

  it.each(WAYS)('is shown if its address is safe: $era client, $server server', async ({ era, server }) => {
    const { questions, answer } = await converse(era, runOf(server, { ask: [page(GOOD)] }))
    expect(questions.map(({ params }) => params.url)).toEqual([GOOD])
    expect(JSON.stringify(answer)).toContain('accept')
  })

  it.each(WAYS.flatMap((way) => BAD.map((url) => ({ ...way, url }))))(
    'is not shown otherwise: $era client, $server server, $url',
    async ({ era, server, url }) => {
      const { questions, answer } = await converse(era, runOf(server, { ask: [page(url)] }))
      expect(questions).toEqual([])
      if (url !== '') expect(JSON.stringify(answer)).not.toContain(JSON.stringify(url).slice(1, -1))
      // A legacy server is told that its request is invalid; of a modern one the call fails.
      expect(JSON.stringify(answer)).toContain('to open a page that the gateway does not allow')
      expect(bench.last('POLICY_DENIED')).toMatchObject({ method: 'elicitation/create', error: 'PAGE_REFUSED' })
    },
  )

  it.each(WAYS)('is checked whatever the value of its mode: $era client, $server server', async ({ era, server }) => {
    for (const mode of ['form', 'URL', undefined]) {
      const { questions } = await converse(era, runOf(server, { ask: [page('javascript:1', mode)] }))
      expect(questions).toEqual([])
    }
  })

  const failing = (server: string, data: unknown): Message => {
    const error = { code: -32042, message: 'first sign in', data }
    const say = JSON.stringify([`{"jsonrpc":"2.0","id":$ID,"error":${JSON.stringify(error)}}`])
    return { name: `${server.replace('-', '_')}_say`, arguments: { say } }
  }
  const FAILING = ['legacy', 'modern'].flatMap((era) =>
    ['failing-old', 'failing-new'].map((server) => ({ era, server })),
  )

  it.each(FAILING)('is checked in errors too: $era client, $server server', async ({ era, server }) => {
    const first = { mode: 'url', elicitationId: 'e-1', message: 'x', url: GOOD }
    const good = await converse(era, failing(server, { elicitations: [first] }))
    expect(good.answer.error).toMatchObject({ code: -32042, data: { elicitations: [first] } })
    for (const url of BAD) {
      const { answer } = await converse(era, failing(server, { elicitations: [first, { ...first, url }] }))
      expect(JSON.stringify(answer)).toContain('PAGE_REFUSED')
      expect(JSON.stringify(answer)).not.toContain('example.org')
      expect(bench.last('POLICY_DENIED')).toMatchObject({ error: 'PAGE_REFUSED' })
    }
    const { answer } = await converse(era, failing(server, { elicitations: {} }))
    expect(JSON.stringify(answer)).toContain('PAGE_REFUSED')
  })
})
