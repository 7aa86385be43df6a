import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const SALARY = 'Ada earns 83,000 a year'

describe('the screens of calls and sessions', () => {
  const files = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-web-')))
  let bench: WebBench
  let client: LegacyClient

  beforeAll(async () => {
    mkdirSync(join(files, 'hr'))
    writeFileSync(join(files, 'hr/salaries.txt'), `${SALARY}\n`.repeat(4_000))
    writeFileSync(join(files, 'menu.txt'), Array.from({ length: 4_000 }, (_, at) => `soup ${at}`).join('\n'))
    const open = { requires_approval: false }
    bench = await openWebBench(
      {
        governance: { enforce: true },
        context: { cap: 4_000 },
        mcp_servers: {
          files: { ...npmServer('filesystem', files), sensitive_paths: [`${files}/hr/**`] },
          everything: { ...npmServer('everything'), trusted: true },
          memory: npmServer('memory'),
        },
      },
      {
        'tools.yaml': {
          tools: {
            'files/read_text_file': { ...open, permission: ['READ'] },
            'everything/echo': { ...open, permission: ['READ', 'CONNECT'] },
            'everything/get-sum': { ...open, permission: ['CONNECT'] },
            'memory/*': { ...open, permission: ['READ'] },
          },
        },
      },
    )
    client = await openClient('lunch')
  })

  afterAll(async () => {
    await bench?.close()
    rmSync(files, { recursive: true, force: true })
  })

  async function openClient(session: string): Promise<LegacyClient> {
    const headers = { authorization: `Bearer ${bench.gateway.token('operator')}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ agent: 'codex', session })
    const reply = await fetch(`${bench.gateway.url}/api/tokens`, { method: 'POST', headers, body })
    const { token } = (await reply.json()) as { token: string }
    return LegacyClient.open(bench.gateway.mcp, { authorization: `Bearer ${token}` })
  }

  const recordsOf = (type: string) => bench.gateway.records().filter((record) => record.type === type)
  const lastCall = (tool: string): string =>
    String(recordsOf('TOOL_CALL_COMPLETED').findLast((record) => String(record.tool_name).endsWith(tool))?.call_id)

  it(`${promise('WEB-5')} a call shows where its time went, and its result before it was shortened`, async () => {
    await client.call('files_read_text_file', { path: join(files, 'menu.txt') })
    const id = lastCall('read_text_file')
    const { page, problems, close } = await bench.open(`/calls/${id}`)
    await page.getByText('Allowed, and answered.').waitFor()
    const steps = page.getByRole('list').filter({ hasText: 'sent to files' })
    for (const step of ['decide', 'approve', 'run', 'return']) await steps.getByText(step, { exact: true }).waitFor()
    await steps.getByText(/^select, mode, pin/).waitFor()
    await page.getByText(/^server \d/).waitFor()
    const result = page.getByRole('region', { name: 'The stored result' })
    expect(await result.count()).toBe(0)
    expect(recordsOf('RESULT_READ')).toEqual([])
    await page.getByRole('button', { name: 'Show it' }).click()
    await result.getByText('soup 900').waitFor()
    expect(recordsOf('RESULT_READ')).toMatchObject([{ call_id: id, session: 'lunch', via: 'web' }])
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'call-shaped')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-5')} a result of a session that is private now is shown to nobody`, async () => {
    const payroll = await openClient('payroll')
    expect(JSON.stringify(await payroll.call('files_read_text_file', { path: join(files, 'menu.txt') }))).toContain(
      'soup',
    )
    const before = lastCall('read_text_file')
    await payroll.call('files_read_text_file', { path: join(files, 'hr/salaries.txt') })
    const known = recordsOf('RESULT_READ').length
    for (const id of [before, lastCall('read_text_file')]) {
      const { page, close } = await bench.open(`/calls/${id}`)
      await page.getByRole('button', { name: 'Show it' }).click()
      await page.getByText('Its session has seen private data.').waitFor()
      expect(await page.content()).not.toContain(SALARY)
      await close()
    }
    expect(recordsOf('RESULT_READ')).toHaveLength(known)
  })

  it(`${promise('WEB-5')} the rules of now decide again about a call of before, and nothing is called`, async () => {
    await client.call('memory_read_graph')
    const id = lastCall('read_graph')
    const file = join(bench.gateway.home, 'tools.yaml')
    const rules = JSON.parse(readFileSync(file, 'utf8'))
    rules.tools['memory/read_graph'] = { requires_approval: true, permission: ['READ'] }
    const reloads = recordsOf('TOOLS_FILE_RELOADED').length
    writeFileSync(file, JSON.stringify(rules, null, 2))
    await expect.poll(() => recordsOf('TOOLS_FILE_RELOADED').length).toBeGreaterThan(reloads)
    const started = recordsOf('TOOL_CALL_STARTED').length
    const { page, problems, close } = await bench.open(`/calls/${id}`)
    await page.getByRole('button', { name: 'Decide again' }).click()
    await page.getByText('The rules of now would ask a person.').waitFor()
    await page
      .getByText(/tools\.yaml:\d+/)
      .first()
      .waitFor()
    expect(recordsOf('TOOL_CALL_STARTED')).toHaveLength(started)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'call-again')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-6')} raising a label shows before and after what is blocked, and the call is refused`, async () => {
    expect(await client.call('everything_echo', { message: 'hello' })).not.toHaveProperty('isError', true)
    const { page, problems, close } = await bench.open('/sessions/lunch')
    await page.getByText('Nothing yet: it has not seen private data.').waitFor()
    await page.getByLabel('To').selectOption('CONFIDENTIAL')
    await page.getByText(/That would block \d+ tools of .*everything.*\. Its sandboxes would be PROXIED\./).waitFor()
    await page.getByRole('button', { name: 'Raise to CONFIDENTIAL' }).click()
    await page.getByText('What is blocked while it is CONFIDENTIAL').waitFor()
    const blocked = page.locator('details', { hasText: 'everything/*' })
    await blocked.locator('summary').click()
    await blocked.getByText('Continue with tools that do not reach out.').waitFor()
    await blocked.getByText(/echo, .*get-sum/).waitFor()
    await page.getByText('No program runs in a sandbox for it now.').waitFor()
    expect(await page.getByLabel('To').locator('option').allTextContents()).toEqual(['SECRET'])
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'sessions-raised')
    expect(JSON.stringify(await client.call('everything_echo', { message: 'hello' }))).toContain('CONFIDENTIAL')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-6')} names a session that does not exist, instead of another one`, async () => {
    const { page, problems, close } = await bench.open('/sessions/nobody')
    await page.getByText('There is no such session').waitFor()
    expect(problems).toEqual([])
    await close()
  })
})

/** Runs a gateway as if it were yesterday. */
const YESTERDAY = `data:text/javascript,${encodeURIComponent(`
const now = Date.now
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...given) { given.length === 0 ? super(now() - 86_400_000) : super(...given) }
  static now() { return now() - 86_400_000 }
}`)}`

it(`${promise('WEB-5')} finds a call that was refused yesterday, and the file and line of its rule`, async () => {
  const config = { governance: { enforce: true }, mcp_servers: { memory: npmServer('memory') } }
  const rules = { 'tools.yaml': { tools: { 'memory/delete_entities': { allowed_in_modes: ['RECOVERY'] } } } }
  const bench = await openWebBench(config, rules, { NODE_OPTIONS: `--import=${YESTERDAY}` })
  onTestFinished(() => bench.close())
  const client = await LegacyClient.open(bench.gateway.mcp)
  await client.call('memory_delete_entities', { entityNames: ['all'] })
  await bench.restart()
  await (await LegacyClient.open(bench.gateway.mcp)).call('memory_read_graph')
  const { page, problems, close } = await bench.open('/live')
  await page.getByText('memory/read_graph').waitFor()
  await page.getByRole('button', { name: 'deny' }).click()
  const yesterday = await page.evaluate<string>(
    `(() => { const day = new Date(Date.now() - 86400000); return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, '0')).join('-') })()`,
  )
  await page.getByLabel('Day').fill(yesterday)
  await page.getByRole('button', { name: 'Back to now' }).waitFor()
  await page.getByRole('searchbox', { name: 'Search calls' }).fill('DELETE')
  await page.getByRole('link', { name: /memory\/delete_entities/ }).click()
  await page.getByText('Refused. It was never sent.').waitFor()
  const [denied] = bench.gateway.records().filter(({ type }) => type === 'POLICY_DENIED')
  const { rule } = (denied as Record<string, unknown>).decided_by as {
    readonly rule: { readonly file: string; readonly line: number }
  }
  await page.getByText(`${rule.file}:${rule.line}`).waitFor()
  expect(await findBarriers(page)).toEqual([])
  await shoot(page, 'call-yesterday')
  expect(problems).toEqual([])
  await close()
})
