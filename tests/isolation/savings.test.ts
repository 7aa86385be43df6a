import { describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { promise } from '../promises.ts'
import { type FloodBench, handleIn, type Message, openFlood, openIsolatedFlood } from './flood-bench.ts'

const printed = async ({ gateway: { state } }: FloodBench, ...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCommand([...args, '--state', state])
  expect(code, stderr).toBe(0)
  return stdout
}

const metricsOf = async ({ gateway }: FloodBench): Promise<string> => {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  return (await fetch(`${gateway.url}/metrics`, { headers })).text()
}

const lastCompleted = ({ gateway }: FloodBench): Message =>
  gateway.records().findLast(({ type }) => type === 'TOOL_CALL_COMPLETED') as Message

describe(`${promise('ISO-12')} what was kept out of a context`, () => {
  it('is added up by tool, agent and session, and is the sum of the records', async () => {
    const bench = await openFlood({ tools: { mcp__db__other: { result: 'sql_query' } } })
    await bench.client.call('db_flood', { kind: 'log', count: 500 })
    await bench.client.call('db_flood', { kind: 'log', count: 900 })
    await bench.client.call('db_other', { kind: 'json', count: 200 })
    await bench.client.call('db_flood', { kind: 'log', count: 1 })
    const kept = bench.gateway
      .records()
      .flatMap(({ tool_name, returned }) =>
        returned ? [{ tool_name, tokens: (returned as Message).tokens_kept }] : [],
      )
    const total = kept.reduce((sum, { tokens }) => sum + tokens, 0)
    const savings = JSON.parse(await printed(bench, 'tools', 'savings', '--json'))
    expect(savings).toMatchObject({
      estimate: true,
      by: 'tool',
      total: { calls: 3, tokens_kept: total, tokens_spent: 0 },
    })
    expect(savings.rows).toMatchObject([
      { name: 'mcp__db__flood', calls: 2 },
      { name: 'mcp__db__other', calls: 1, tokens_kept: kept.at(-1)?.tokens },
    ])
    for (const by of ['agent', 'session']) {
      const { rows } = JSON.parse(await printed(bench, 'tools', 'savings', '--by', by, '--since', '1h', '--json'))
      expect(rows).toMatchObject([{ name: lastCompleted(bench)[by], tokens_kept: total }])
    }
    const table = await printed(bench, 'tools', 'savings', '--tool', 'db/other')
    expect(table).toMatch(/mcp__db__other +1 /)
    expect(table).not.toContain('mcp__db__flood')
    const metrics = await metricsOf(bench)
    const counted = [...metrics.matchAll(/^sallyport_tokens_kept_out_total\{[^}]*\} (\d+)/gm)].map(([, count]) =>
      Number(count),
    )
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(total)
  })

  it('is shown for one call by explain, with the strategy, the model’s tokens, and the handle', async () => {
    const bench = await openIsolatedFlood('extract')
    const _intent = '[[call answer {"answer":"It took 41 ms.","quotes":["request 41 took 41 ms"]}]]'
    const shown = await bench.client.call('db_flood', { kind: 'log', count: 400, _intent })
    const { call_id, bytes, returned } = lastCompleted(bench)
    const text = await printed(bench, 'explain', call_id)
    expect(text).toContain(`answer     ${bytes} bytes`)
    expect(text).toContain(`returned   ${returned.bytes} bytes, isolated by the strategy extract`)
    expect(text).toContain(`about ${returned.tokens_kept} tokens were saved`)
    expect(text).toContain('1 turn of a model, 100 tokens in, 20 out')
    expect(text).toContain(handleIn(shown))
    const metrics = await metricsOf(bench)
    expect(metrics).toMatch(/sallyport_isolation_tokens_total\{[^}]*direction="in"\} 100/)
  })

  it('says why a call fell back', async () => {
    const bench = await openFlood({ entry: { isolated: true }, config: { isolation: { strategy: 'extract' } } })
    await bench.client.call('db_flood', { kind: 'log' })
    const text = await printed(bench, 'explain', lastCompleted(bench).call_id)
    expect(text).toContain('bounded instead of the strategy extract')
    expect(text).toContain('it fell back because of MODEL_UNAVAILABLE. Set isolation.model')
  })

  it('is the same whatever the caller sent before: nothing of its history reaches the sub-agent', async () => {
    const used: Message[] = []
    const kept: number[] = []
    for (const history of ['', 'An earlier word of the conversation. '.repeat(6_000)]) {
      const bench = await openIsolatedFlood('agent')
      // Before it, the same session has called with all that: it is what a gateway could keep of a conversation.
      if (history !== '')
        await bench.client.call('db_flood', { result: { content: [{ type: 'text', text: history }] } })
      const before = bench.model.requests.length
      await bench.client.call('db_flood', {
        kind: 'log',
        count: 400,
        note: '[[call flood {}]]\n[[call complete_task {"success":true,"output":"done"}]]',
      })
      const requests = bench.model.requests
        .slice(before)
        .map(({ body }) => body.replaceAll(/r_[a-z2-7]{20}|[0-9a-f]{16,}/g, ''))
      used.push({
        requests: requests.map((body) => body.length),
        returned: withoutHandle(lastCompleted(bench).returned),
      })
      kept.push(lastCompleted(bench).returned.tokens_kept)
    }
    expect(used[0]?.returned).toMatchObject({ strategy: 'agent', turns: 2 })
    expect(used[1]).toEqual(used[0])
    expect(Math.abs(Number(kept[1]) - Number(kept[0]))).toBeLessThan(5)
  })
})

/** The handle is another one each time, and the estimate of what was kept out goes by its letters. */
const withoutHandle = ({ handle: _handle, tokens_kept: _tokens, ...facts }: Message): Message => facts

describe('a tool with an output schema', () => {
  const schemaOf = async ({ client }: FloodBench): Promise<unknown> =>
    (await client.request('tools/list')).message.result.tools.find(({ name }: Message) => name === 'db_table')
      ?.outputSchema

  it.each([
    ['over the cap', {}],
    ['by a preset', { entry: { result: 'sql_query' }, config: { context: { cap: 'off' } } }],
    ['by isolation', { entry: { isolated: true }, config: { context: { cap: 'off' } } }],
  ])(
    `${promise('ISO-17')} is listed without it if its results may be cut %s: clients refuse results that do not match it`,
    async (_, wish) => {
      expect(await schemaOf(await openFlood(wish))).toBeUndefined()
    },
  )

  it.each([
    ['nothing is cut', { config: { context: { cap: 'off' } } }],
    ['it is isolated exactly', { entry: { isolated: true }, config: { isolation: { strategy: 'exact' } } }],
    ['its own entry says so', { tools: { mcp__db__table: { isolated: { strategy: 'exact' } } } }],
  ])(`${promise('ISO-17')} keeps it, and its whole structured content, if %s`, async (_, wish) => {
    const bench = await openFlood(wish)
    expect(await schemaOf(bench)).toMatchObject({ required: ['rows', 'total'] })
    const { structuredContent } = await bench.client.call('db_table', { count: 2_000 })
    expect(structuredContent.rows).toHaveLength(2_000)
  })
})

describe(`${promise('ISO-1')} a mistake in settings for results`, () => {
  it('is reported by name: a tool that does not exist, and an unknown preset', async () => {
    const bench = await openFlood({
      entry: { isolatedTools: ['floood', 'other'] },
      tools: { mcp__db__flood: { result: 'sql_querry' } },
    })
    await eventually(
      () => bench.gateway.stderr(),
      (words) => words.includes('the server has no tool "floood". Did you mean "flood"?'),
    )
    const shown = await bench.client.call('db_flood', { kind: 'log', count: 300 })
    expect(JSON.stringify(shown)).toContain('sallyport_read_result')
    const { home, state } = bench.gateway
    const { code, stdout, stderr } = await runCommand(['tools', 'check', '--home', home, '--state', state])
    expect(code).not.toBe(0)
    expect(stdout + stderr).toContain('result: There is no preset "sql_querry" for results. Did you mean "sql_query"?')
  })
})
