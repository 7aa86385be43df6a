import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const TOOLS = { tools: { mcp__memory__search_nodes: { forbidden_in_modes: ['NORMAL'] } } }

describe('the overview', () => {
  const files = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-web-')))
  let bench: WebBench

  beforeAll(async () => {
    const mcp_servers = { filesystem: npmServer('filesystem', files), memory: npmServer('memory') }
    bench = await openWebBench({ mcp_servers, governance: { enforce: true } }, { 'tools.yaml': TOOLS })
  })

  afterAll(async () => {
    await bench?.close()
    rmSync(files, { recursive: true, force: true })
  })

  it(`${promise('WEB-10')} draws the calls of today from agents to servers as they happen, refused and waiting ones too`, async () => {
    const { page, problems, close } = await bench.open('/')
    await page.getByText('No agent has called today.').waitFor()
    await page.getByText('sallyport run claude-code').waitFor()
    await shoot(page, 'overview-quiet')
    const [codex, claude] = await Promise.all(
      ['codex', 'claude-code'].map((agent) => LegacyClient.open(`${bench.gateway.mcp}/${agent}.default`)),
    )
    for (let call = 0; call < 5; call++) await claude?.call('memory_read_graph', {})
    await codex?.call('filesystem_list_directory', { path: files })
    expect(await codex?.call('memory_search_nodes', { query: 'x' })).toHaveProperty('isError', true)
    const waiting = codex?.call('filesystem_write_file', { path: join(files, 'one.txt'), content: 'x' })
    const door = page.getByRole('img', {
      name: /^Calls of today: 1 refused by the rules, 1 asked about, .* 1 waiting$/,
    })
    await door.waitFor()
    for (const text of ['claude-code', 'codex', 'filesystem', '6 allowed', '1 refused', '1 waits in between'])
      await door.getByText(text, { exact: true }).waitFor()
    await page.getByText('6 of 8 calls reached a server today').waitFor()
    // In the first hour of a day there is no line to draw yet.
    expect(await page.locator('.spark').count()).toBe(new Date().getHours() === 0 ? 0 : 5)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'overview-full')
    const dark = await bench.open('/', { scheme: 'dark' })
    await dark.page.getByRole('img', { name: /^Calls of today/ }).waitFor()
    expect(await findBarriers(dark.page)).toEqual([])
    await shoot(dark.page, 'overview-full-dark')
    await dark.close()
    const phone = await bench.open('/', { size: 'phone', scheme: 'dark' })
    await phone.page.getByText(/1 refused by the rules, .* 1 waiting$/).waitFor()
    expect(await findBarriers(phone.page)).toEqual([])
    expect(await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(phone.page, 'overview-full-phone-dark')
    await phone.page.goto(`${bench.gateway.url}/approvals`)
    await phone.page.getByRole('button', { name: 'Approve once' }).click()
    expect(await waiting).not.toHaveProperty('isError', true)
    await phone.close()
    await page.getByRole('img', { name: /1 asked about, 1 approved, 0 not approved$/ }).waitFor()
    expect(problems).toEqual([])
    await close()
  })

  it.each([
    ['/start', 'found-agents', 'the agents on this machine'],
    ['/savings', 'savings/history*', 'the savings'],
    ['/servers/memory?edit=form', 'servers/memory/entry', 'the entry of memory'],
  ])(`${promise('WEB-11')} %s names what it loads, and shows why it cannot`, async (path, route, what) => {
    const { page, close } = await bench.open('/')
    await page.route(`**/api/${route}`, () => {})
    await page.goto(`${bench.gateway.url}${path}`)
    await page.getByText(`Loading ${what}…`).waitFor()
    await shoot(page, `loading-${path.split('/')[1]}`)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    const error = { code: 'FORBIDDEN', message: 'This is not for you.', hint: 'Ask the operator.' }
    await page.route(`**/api/${route}`, (request) => request.fulfill({ status: 403, json: { error } }))
    await page.goto(`${bench.gateway.url}${path}`)
    await page.getByRole('alert').getByText('This is not for you.').waitFor()
    await page.getByText('Ask the operator.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, `error-${path.split('/')[1]}`)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await close()
  })

  it(`${promise('WEB-2')} the selector shows when the agent last called each tool, and follows its calls`, async () => {
    const client = await LegacyClient.open(`${bench.gateway.mcp}/claude-code.default`)
    await client.call('memory_read_graph', {})
    const { page, problems, close } = await bench.open('/agents/claude-code.default')
    const lastUse = (tool: string, hasText: string | RegExp) =>
      page
        .locator('.tool')
        .filter({ has: page.getByRole('checkbox', { name: tool }) })
        .locator('> .used', { hasText })
    const search = page.getByRole('searchbox', { name: 'Search tools' })
    await search.fill('list_directory')
    // Another agent has called it.
    await lastUse('filesystem/list_directory', 'never').first().waitFor()
    await search.fill('memory')
    await lastUse('memory/read_graph', /just now| ago/).waitFor()
    await page.getByText('withheld by rules').waitFor()
    await lastUse('memory/open_nodes', 'never').waitFor()
    await shoot(page, 'agents-last-use')
    await client.call('memory_open_nodes', { names: ['x'] })
    await lastUse('memory/open_nodes', 'just now').waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(problems).toEqual([])
    await close()
  })
})
