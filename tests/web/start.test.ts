import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { replaceFile } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const TOKEN = `ghp_${'a1B2'.repeat(9)}`
const MEMORY = npmServer('memory')
/** A name that a reader would take for another one, and markup. */
const HOSTILE = 'p\u0430y\u202e <img src=x onerror=alert(1)>'
const CONFIG = '# ours, and nobody else’s\ngovernance: { enforce: false } # for now\n'

describe('the start', () => {
  const user = mkdtempSync(join(tmpdir(), 'sallyport-user-'))
  const files = {
    '.cursor/mcp.json': JSON.stringify({
      mcpServers: {
        memory: MEMORY,
        github: { ...npmServer('everything'), env: { GITHUB_TOKEN: TOKEN } },
        [HOSTILE]: { url: 'ftp://x' },
      },
    }),
    '.codex/config.toml': `[mcp_servers.notes]\ncommand = ${JSON.stringify(MEMORY.command)}\nargs = ${JSON.stringify(MEMORY.args)}\n`,
    '.gemini/settings.json': '{"mcpServers": {"thinking": ',
  }
  let bench: WebBench

  const path = (name: string): string => join(user, name)
  const readConfig = (): string => readFileSync(join(bench.gateway.home, 'config.yaml'), 'utf8')

  beforeAll(async () => {
    for (const name of ['CODEX_HOME', 'CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'GEMINI_CLI_HOME'])
      vi.stubEnv(name, undefined)
    vi.stubEnv('HOME', user)
    bench = await openWebBench({})
    bench.gateway.writeConfig(CONFIG)
  })

  afterAll(async () => {
    vi.unstubAllEnvs()
    await bench?.close()
    rmSync(user, { recursive: true, force: true })
  })

  it(`${promise('WEB-1')} says so where no agent is found, and names one command`, async () => {
    const { page, problems, close } = await bench.open('/')
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByText('No server is behind this gateway yet').waitFor()
    await shoot(page, 'overview-empty')
    await steps.getByRole('link', { name: 'Look for agents' }).click()
    await page.getByRole('heading', { name: 'No agent was found' }).waitFor()
    await page.getByText('sallyport agents').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'start-empty')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-1')} imports the servers of all agents by keys alone, after the change was shown, and writes nothing to their files`, async () => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(path(name)), { recursive: true })
      writeFileSync(path(name), text)
    }
    const { page, problems, close } = await bench.open('/')
    await page.getByText(/have 2 servers that can be imported/).waitFor()
    await page.getByRole('link', { name: 'See what was found' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Nothing is written to their files').waitFor()
    const list = page.getByRole('list', { name: 'Agents on this machine' })
    await list.getByText('the same as notes of codex').waitFor()
    await list.getByText(path('.gemini/settings.json')).first().waitFor()
    expect(await page.getByText(TOKEN).count()).toBe(0)
    await list.getByText('its URL is not an http or https URL').waitFor()
    for (const code of ['U+0430', 'U+202E']) await list.getByText(code).first().waitFor()
    expect(await list.locator('img').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'start')
    await page.getByRole('button', { name: 'Import 2 servers…' }).focus()
    await page.keyboard.press('Enter')
    const change = page.getByRole('region', { name: 'The change of config.yaml' })
    await change.locator('.add', { hasText: 'notes:' }).waitFor()
    await page.getByText(/github stays disabled until GITHUB_TOKEN/).waitFor()
    expect(readConfig()).toBe(CONFIG)
    await shoot(page, 'start-change')
    await page.getByRole('button', { name: 'Write to config.yaml' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('All servers that can be imported are in config.yaml.').waitFor()
    await list.getByText('in config.yaml', { exact: true }).first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    const after = readConfig()
    expect(after.startsWith(CONFIG)).toBe(true)
    expect(after).not.toContain(TOKEN)
    for (const [name, text] of Object.entries(files)) expect(readFileSync(path(name), 'utf8')).toBe(text)
    await page.getByRole('link', { name: 'in config.yaml', exact: true }).first().click()
    await page.getByRole('listitem').getByText('create_entities').first().waitFor()
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-1')} writes nothing if a file has changed after the change was shown`, async () => {
    bench.gateway.writeConfig(CONFIG)
    const { page, problems, close } = await bench.open('/start')
    await page.getByRole('button', { name: 'Import 2 servers…' }).click()
    await page.getByRole('region', { name: 'The change of config.yaml' }).waitFor()
    replaceFile(path('.cursor/mcp.json'), JSON.stringify({ mcpServers: { evil: { command: 'evil' }, memory: MEMORY } }))
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await page.getByRole('alert').getByText('CONFIG_CHANGED').waitFor()
    expect(readConfig()).toBe(CONFIG)
    await page.getByRole('button', { name: 'Show the change again' }).click()
    await page.locator('.add', { hasText: 'evil:' }).waitFor()
    // The refusal itself is an error in the console of a browser.
    expect(problems.filter((problem) => !problem.includes('409'))).toEqual([])
    await close()
  })

  it(`${promise('WEB-11')} is usable on a phone and in the dark`, async () => {
    const { page, close } = await bench.open('/start', { size: 'phone', scheme: 'dark' })
    await page.getByRole('button', { name: /^Import/ }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(page, 'start-phone-dark')
    await close()
  })
})
