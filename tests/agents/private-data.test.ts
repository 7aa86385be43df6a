import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openModel } from '../../examples/private-data/model.mjs'
import { openOutside } from '../../examples/private-data/outside.mjs'
import { makePlace, REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import { findInstalled } from './installed-agent.ts'
import { type PlayedAgent, playAgent } from './played-agent.ts'

const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = AGENT_CLIS.filter(({ id }) => wanted.includes(id)).map((cli) => [cli.id, cli] as const)

const EXAMPLE = join(REPOSITORY, 'examples/private-data')
const SALARIES = '520138 410276 470193'
const WITHIN = 'The salaries of 3 people are within the budget.'

/** In one session: first what is read apart, then the private data, and what can still be done after that. */
const SCRIPT = [
  ['files_read_text_file', { path: join(EXAMPLE, 'files/hr/salaries.csv') }],
  ['chat_post_message', { text: WITHIN }],
  ['payroll_read_payroll', {}],
  ['chat_post_message', { text: SALARIES }],
  ['charts_draw', { text: SALARIES }],
  ['ledger_book', { text: 'October 1400607' }],
].map(([tool, args]) => `[[call ${tool} ${JSON.stringify(args)}]]`)

type Outside = Awaited<ReturnType<typeof openOutside>>

/** A file of the example, with the addresses and folders of this run. */
const readExample = (name: string, values: Readonly<Record<string, string>>): string =>
  readFileSync(join(EXAMPLE, 'home', name), 'utf8').replace(/\$\{(\w+)\}/g, (_, word) => values[word] ?? '')

describe.each(clis)('%s', (id, cli) => {
  let played: PlayedAgent
  let outside: Outside

  beforeAll(async () => {
    const installed = findInstalled(id)
    if (!installed) throw new Error(`${id} is not installed.`)
    outside = await openOutside()
    const subAgent = await openModel()
    const work = makePlace()
    const { chat, charts, chartsIsolated, ledger } = outside
    const values = {
      ...{ EXAMPLE, WORK: work.home, JWT_SECRET: 'x'.repeat(8) + work.home, ...subAgent.env },
      ...{ CHAT_URL: chat.url, CHARTS_URL: charts.url, CHARTS_ISOLATED_URL: chartsIsolated.url },
      ...{ LEDGER_URL: ledger.url, LEDGER_HOST: ledger.host },
    }
    played = await playAgent(cli, installed, {
      script: SCRIPT,
      config: () => readExample('config.yaml', values),
      tools: readExample('tools.yaml', values),
    })
    return () => {
      work.remove()
      for (const { close } of [subAgent, ...Object.values<{ close(): void }>(outside)]) close()
    }
  })

  it(`${promise('SEN-5')} cannot send out what it has read, and its model reads what it can do instead`, () => {
    const { results, outcome } = played
    expect(results, outcome.stderr).toHaveLength(SCRIPT.length)
    expect(results[2]?.text).toContain('520138')
    expect(results[3]?.text).toContain('this session holds private data (CONFIDENTIAL')
    expect(results[3]?.text).toContain('What can be done: a person can read and approve this one call')
    expect(JSON.stringify([outside.chat.received(), outside.charts.received()])).not.toMatch(/520138|410276|470193/)
  })

  it(`${promise('SEN-6')} finishes by what is read apart, the isolated instance and the allowed host`, () => {
    const { results } = played
    // Some agents write around what a server says.
    expect(results[0]?.text).toMatch(/\{\s*"people":\s*3,\s*"within_budget":\s*true\s*\}/)
    expect([outside.chat.texts, outside.charts.texts]).toEqual([[WITHIN], []])
    expect(outside.chartsIsolated.texts).toEqual([SALARIES])
    expect(outside.ledger.texts).toEqual(['October 1400607'])
  })
})
