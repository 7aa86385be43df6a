import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openV1, type SdkClient } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const OFFERING = fileURLToPath(new URL('../fixtures/offering-server.mjs', import.meta.url))
const MANY = 5_000

const PROFILES = {
  executors: {
    CLAUDE_CODE: { DEFAULT: {}, REVIEWER: { selected_mcp_tools: ['memory/read_graph', 'gone/tool'] } },
    CODEX: { DEFAULT: {}, DOCS: { selected_mcp_tools: [], title: 'Reads only' } },
  },
}

describe('the selection of tools', () => {
  let bench: WebBench

  beforeAll(async () => {
    const config = { mcp_servers: { memory: npmServer('memory'), everything: npmServer('everything') } }
    bench = await openWebBench(config, { 'profiles.json': PROFILES })
  })

  afterAll(() => bench?.close())

  const readProfiles = (): any => JSON.parse(readFileSync(join(bench.gateway.home, 'profiles.json'), 'utf8')).executors

  it(`${promise('WEB-2')} changes the list of a connected client at once, by keys alone`, async () => {
    const client = await openV1(new StreamableHTTPClientTransport(new URL(`${bench.gateway.mcp}/claude-code.reviewer`)))
    expect(await listNames(client)).toEqual(['memory_read_graph'])
    const { page, problems, close } = await bench.open('/agents/claude-code.reviewer')
    await page.getByText(/^1 of \d+ tools selected$/).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('ECHO')
    await page.getByRole('checkbox', { name: 'everything/echo' }).waitFor()
    await page.getByRole('checkbox', { name: 'All tools of everything' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.getByText(/^2 of \d+ tools selected$/).waitFor()
    await page.getByRole('region', { name: 'The change of profiles.json' }).getByText('"everything/echo"').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'agents-changed')
    await page.getByRole('button', { name: 'Save' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('claude-code.reviewer is saved, and in force.').waitFor()
    await expect.poll(() => listNames(client)).toEqual(['everything_echo', 'memory_read_graph'])
    expect(client.received.some(({ method }) => method === 'notifications/tools/list_changed')).toBe(true)
    // What matches nothing now is kept, since its server may come back.
    expect(readProfiles().CLAUDE_CODE.REVIEWER.selected_mcp_tools).toEqual([
      'memory/read_graph',
      'everything/echo',
      'gone/tool',
    ])
    expect(problems).toEqual([])
    await close()
    await client.close()
  })

  it(`${promise('WEB-2')} shows what matches nothing, and removes it only if somebody says so`, async () => {
    const { page, problems, close } = await bench.open('/agents/claude-code.reviewer')
    await page.locator('s', { hasText: 'gone/tool' }).waitFor()
    await page.getByRole('button', { name: 'Remove gone/tool' }).click()
    await save(page)
    expect(readProfiles().CLAUDE_CODE.REVIEWER.selected_mcp_tools).not.toContain('gone/tool')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-2')} means all tools if nothing is selected, and none only by its switch`, async () => {
    const { page, problems, close } = await bench.open('/agents/claude-code.reviewer')
    await page.getByRole('button', { name: 'Clear All' }).click()
    await page.getByText('No tools selected: this agent will use all available MCP tools for Claude Code').waitFor()
    expect(await page.getByRole('button', { name: 'Clear All' }).isDisabled()).toBe(true)
    await save(page)
    expect(readProfiles().CLAUDE_CODE.REVIEWER).toEqual({})
    await page.getByRole('switch', { name: 'No MCP tools' }).check()
    await page.getByText('This agent gets no MCP tools').waitFor()
    await save(page)
    expect(readProfiles().CLAUDE_CODE.REVIEWER).toEqual({ selected_mcp_tools: [] })
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-2')} never saves what was chosen for one agent into another`, async () => {
    const before = readProfiles().CODEX
    const { page, problems, close } = await bench.open('/agents/codex.docs')
    await page.getByText('This agent gets no MCP tools').waitFor()
    await page.getByRole('switch', { name: 'No MCP tools' }).uncheck()
    await page.getByRole('checkbox', { name: 'All tools of memory' }).check()
    await page
      .getByRole('navigation', { name: 'Profiles' })
      .getByRole('link', { name: /^default/ })
      .first()
      .click()
    await page.getByRole('heading', { name: 'claude-code.default' }).waitFor()
    await page.getByText(/^0 of \d+ tools selected$/).waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
    await page.getByRole('checkbox', { name: 'memory/open_nodes' }).check()
    await save(page)
    expect(readProfiles().CLAUDE_CODE.DEFAULT).toEqual({ selected_mcp_tools: ['memory/open_nodes'] })
    expect(readProfiles().CODEX).toEqual(before)
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-2')} does not overwrite silently what another tab has saved`, async () => {
    const [one, two] = [await bench.open('/agents/codex.docs'), await bench.open('/agents/codex.docs')]
    for (const { page } of [one, two]) await page.getByRole('switch', { name: 'No MCP tools' }).uncheck()
    await one.page.getByRole('checkbox', { name: 'memory/read_graph' }).check()
    await two.page.getByRole('checkbox', { name: 'everything/echo' }).check()
    await save(one.page)
    await two.page.getByRole('button', { name: 'Save' }).click()
    await two.page.getByRole('alert').getByText('Now it selects memory/read_graph').waitFor()
    expect(readProfiles().CODEX.DOCS).toEqual({ selected_mcp_tools: ['memory/read_graph'], title: 'Reads only' })
    await shoot(two.page, 'agents-conflict')
    await two.page.getByRole('button', { name: 'Overwrite with mine' }).click()
    await two.page.getByText('codex.docs is saved, and in force.').waitFor()
    expect(readProfiles().CODEX.DOCS).toEqual({ selected_mcp_tools: ['everything/echo'], title: 'Reads only' })
    // The refusal itself is an error in the console of a browser.
    expect(two.problems.filter((problem) => !problem.includes('412'))).toEqual([])
    expect(one.problems).toEqual([])
    await one.close()
    await two.close()
  })

  it(`${promise('WEB-2')} creates and deletes a profile, and says where an agent has no MCP`, async () => {
    const { page, problems, close } = await bench.open('/agents')
    await page.getByRole('link', { name: 'New profile' }).click()
    await page.getByLabel('Agent').selectOption('gemini-cli')
    await page.getByLabel('Name').fill('triage')
    await page.getByRole('button', { name: 'Create and choose tools' }).click()
    await page.getByRole('heading', { name: 'gemini-cli.triage' }).waitFor()
    expect(readProfiles().GEMINI_CLI).toEqual({ TRIAGE: {} })
    await page.getByRole('button', { name: 'Delete this profile…' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('heading', { name: 'gemini-cli.default' }).waitFor()
    expect(readProfiles().GEMINI_CLI?.TRIAGE).toBeUndefined()
    await page.goto(`${bench.gateway.url}/agents/aider.default`)
    await page.getByText('cannot use MCP servers').waitFor()
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-2')} shows only the rows in view of ${MANY} tools, and finds one of them`, async () => {
    const offers = join(bench.gateway.home, 'many.json')
    const tools = Array.from({ length: MANY }, (_, at) => ({
      name: `tool_${at}`,
      description: `Looks up record ${at}`,
      inputSchema: { type: 'object' },
    }))
    writeFileSync(offers, JSON.stringify({ tools }))
    bench.gateway.writeConfig({ mcp_servers: { many: { command: process.execPath, args: [OFFERING, offers] } } })
    const { page, problems, close } = await bench.open('/agents/codex.default')
    await page.getByText(/^0 of 5,0\d\d tools selected$/).waitFor()
    await page.getByRole('checkbox', { name: 'many/tool_5', exact: true }).waitFor()
    expect(await page.locator('[data-index]').count()).toBeLessThan(80)
    await page.getByRole('checkbox', { name: 'many/tool_5', exact: true }).focus()
    for (const key of ['PageDown', 'PageDown', 'PageDown', 'PageDown']) await page.keyboard.press(key)
    await expect.poll(() => page.evaluate('document.activeElement?.getAttribute("aria-label")')).toBe('many/tool_45')
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('record 4711')
    await page.getByRole('checkbox', { name: 'many/tool_4711' }).check()
    await page.getByText(/^1 of 5,0\d\d tools selected$/).waitFor()
    await shoot(page, 'agents-5000')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-11')} is usable on a phone and in the dark`, async () => {
    const phone = await bench.open('/agents/codex.default', { size: 'phone', scheme: 'dark' })
    await phone.page.getByText(/tools selected$/).waitFor()
    expect(await findBarriers(phone.page)).toEqual([])
    expect(await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(phone.page, 'agents-phone-dark')
    await phone.close()
  })
})

async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Not saved yet').waitFor({ state: 'detached' })
}

/** Without the reader of stored results, which every client gets. */
const listNames = async (client: SdkClient): Promise<readonly string[]> =>
  (await client.plain.listTools()).tools
    .map(({ name }) => name as string)
    .filter((name) => name !== 'sallyport_read_result')
    .sort()
