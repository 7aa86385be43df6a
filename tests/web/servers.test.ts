import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { replaceFile } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const MEMORY = npmServer('memory')
/** What this server says before it ends has a letter that looks like another one. */
const DEAD = { command: process.execPath, args: ['-e', 'console.error("no p\\u0430ssword"); process.exit(3)'] }
const CONFIG = `# ours, and nobody else's
governance: { enforce: false }
mcp_servers:
  memory: # for notes
    command: ${JSON.stringify(MEMORY.command)}
    args: ${JSON.stringify(MEMORY.args)}
  dead: ${JSON.stringify(DEAD)}
# the end
`
const THINKING = npmServer('sequential-thinking')
const CODEX = `model = "any"
[mcp_servers.thoughts]
command = ${JSON.stringify(THINKING.command)}
args = ${JSON.stringify(THINKING.args)}
`

describe('the servers', () => {
  const codex = mkdtempSync(join(tmpdir(), 'sallyport-codex-'))
  let bench: WebBench

  beforeAll(async () => {
    vi.stubEnv('CODEX_HOME', codex)
    writeFileSync(join(codex, 'config.toml'), CODEX)
    bench = await openWebBench({})
    bench.gateway.writeConfig(CONFIG)
  })

  afterAll(async () => {
    vi.unstubAllEnvs()
    await bench?.close()
    rmSync(codex, { recursive: true, force: true })
  })

  const path = (): string => join(bench.gateway.home, 'config.yaml')
  const readConfig = (): string => readFileSync(path(), 'utf8')

  it(`${promise('WEB-8')} a dead server shows why, its last words with lookalikes marked, and its next try`, async () => {
    const { page, problems, close } = await bench.open('/servers/dead')
    const row = page.getByRole('listitem').filter({ has: page.locator('details[open]') })
    await row
      .getByText(/code 3/)
      .first()
      .waitFor()
    await row.getByRole('region', { name: 'Last messages of dead' }).getByText('U+0430').first().waitFor()
    await row
      .getByText(/restarting|broken/)
      .first()
      .waitFor()
    await row.getByRole('img', { name: /^The last 24 hours/ }).waitFor()
    await row.getByText(/[1-9]\d* restarts? in the last 24 hours/).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'servers-dead')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-8')} a restart starts another process, whose tools work, and the strip and latency are of the records`, async () => {
    const client = await LegacyClient.open(bench.gateway.mcp)
    await client.call('memory_read_graph', {})
    const { page, problems, close } = await bench.open('/servers')
    await page.getByText('memory', { exact: true }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/servers/memory')
    const row = page.getByRole('listitem').filter({ has: page.locator('details[open]') })
    await row.getByText('read_graph').first().waitFor()
    await row.getByText(/^half of 1 call within/).waitFor()
    const before = await readPid(bench, 'memory')
    await row.getByRole('button', { name: 'Restart' }).click()
    await page.getByText('memory is starting again.').waitFor()
    await expect.poll(() => readPid(bench, 'memory')).not.toBe(before)
    await row.getByText('ready', { exact: true }).waitFor()
    expect(await client.call('memory_read_graph', {})).not.toHaveProperty('isError', true)
    await shoot(page, 'servers')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-16')} adds a server from pasted text of another agent: diff first, comments kept, keys not written`, async () => {
    const before = readConfig()
    const { page, problems, close } = await bench.open('/servers')
    await page.getByRole('link', { name: 'Add a server' }).click()
    await page.getByRole('link', { name: 'Paste JSON or TOML' }).click()
    const key = `ghp_${'a1B2'.repeat(9)}`
    const entry = { ...npmServer('everything'), env: { GITHUB_TOKEN: key } }
    await page.getByLabel(/^The entry/).fill(JSON.stringify({ mcpServers: { everything: entry } }))
    await page.getByRole('button', { name: 'Show the change' }).click()
    const change = page.getByRole('region', { name: 'The change of config.yaml' })
    await change.locator('.add', { hasText: 'everything:' }).waitFor()
    expect(await change.locator('.del').count()).toBe(0)
    await page.getByText(/stays disabled until GITHUB_TOKEN/).waitFor()
    expect(await page.getByText(key).count()).toBe(1)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'servers-add')
    expect(readConfig()).toBe(before)
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/servers/everything')
    await page.getByText('disabled', { exact: true }).first().waitFor()
    const after = readConfig()
    for (const comment of ["# ours, and nobody else's", '# for notes', '# the end']) expect(after).toContain(comment)
    expect(after.split('\n')).toEqual(expect.arrayContaining(before.split('\n')))
    expect(after).not.toContain(key)
    expect(after).toMatch(/GITHUB_TOKEN: .?\$\{GITHUB_TOKEN\}/)
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-16')} adds one by its form, and disables and removes it, each after its diff`, async () => {
    const before = readConfig()
    const { page, problems, close } = await bench.open('/servers?add=form')
    const { command, args } = THINKING
    await page.getByLabel('Name').fill('thinking')
    await page.getByLabel('Command').fill(command)
    await page.getByLabel('Arguments').fill(args.join('\n'))
    await page.getByLabel('Variables').fill('wrong')
    await page.getByRole('button', { name: 'Show the change' }).click()
    await page.getByRole('alert').getByText('"wrong" is not NAME=value.').waitFor()
    await page.getByLabel('Variables').fill('LEVEL=a=b')
    await page.getByRole('button', { name: 'Show the change' }).click()
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    const row = page.getByRole('listitem').filter({ has: page.locator('details[open]') })
    await row.getByText('ready', { exact: true }).waitFor()
    await row.getByText('sequentialthinking').first().waitFor()
    await row.getByRole('button', { name: 'Disable…' }).click()
    await row.locator('.add', { hasText: 'enabled: false' }).waitFor()
    await row.getByRole('button', { name: 'Write to config.yaml' }).click()
    await row.getByText('disabled', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Remove…' }).click()
    await row.locator('.del', { hasText: 'thinking:' }).waitFor()
    await row.getByRole('button', { name: 'Write to config.yaml' }).click()
    await row.waitFor({ state: 'detached' })
    expect(readConfig()).toBe(before)
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-3')} edits an entry by its form: prefilled, checked, the diff first, comments kept, secrets not shown`, async () => {
    const key = 'a-key-that-nobody-sees'
    const entry = `  memory: # for notes
    command: ${JSON.stringify(MEMORY.command)}
    args: ${JSON.stringify(MEMORY.args)}
    env:
      # of the vault
      API_KEY: ${key}
      LEVEL: info # or debug
    read_timeout: 60 # it is slow
`
    replaceFile(path(), readConfig().replace(/ {2}memory:[\s\S]*?(?= {2}dead:)/, entry))
    const before = readConfig()
    const { page, problems, close } = await bench.open('/servers/memory')
    await page.getByRole('link', { name: 'Edit…' }).click()
    const form = page.getByRole('region', { name: 'Edit memory' })
    await expect.poll(() => form.getByLabel('Variables').inputValue()).toBe('API_KEY=•••\nLEVEL=info')
    expect(await form.getByLabel('Command').inputValue()).toBe(MEMORY.command)
    expect(await form.getByRole('button', { name: 'Show the change' }).isDisabled()).toBe(true)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'servers-edit')
    await form.getByLabel('Longest call').fill('soon')
    await form.getByRole('button', { name: 'Show the change' }).click()
    await form
      .getByRole('alert')
      .getByText(/^expected/)
      .waitFor()
    expect(await form.getByLabel('Longest call').getAttribute('aria-invalid')).toBe('true')
    await shoot(page, 'servers-edit-refused')
    await form.getByLabel('Longest call').fill('30')
    await form.getByLabel('Variables').fill('API_KEY=•••\nLEVEL=debug')
    await form.getByLabel('Sensitivity of its results').selectOption('internal')
    await form.getByRole('button', { name: 'Show the change' }).focus()
    await page.keyboard.press('Enter')
    const change = page.getByRole('region', { name: 'The change of config.yaml' })
    await change.locator('.add', { hasText: 'LEVEL: debug # or debug' }).waitFor()
    expect(await change.locator('.del').count()).toBe(2)
    expect(await page.getByText(key).count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'servers-edit-change')
    expect(readConfig()).toBe(before)
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await page.getByRole('link', { name: 'Edit…' }).waitFor()
    expect(readConfig()).toBe(
      before
        .replace('LEVEL: info #', 'LEVEL: debug #')
        .replace('read_timeout: 60 # it is slow\n', 'read_timeout: 30 # it is slow\n    sensitivity: internal\n'),
    )
    await page.getByText('ready', { exact: true }).first().waitFor()
    expect(problems.filter((problem) => !problem.includes('400'))).toEqual([])
    await close()
  })

  it(`${promise('WEB-3')} of two tabs that edit one entry, the second one is told and overwrites nothing`, async () => {
    const [one, two] = [await bench.open('/servers/memory?edit=form'), await bench.open('/servers/memory?edit=form')]
    for (const [{ page }, title] of [
      [one, 'First'],
      [two, 'Second'],
    ] as const)
      await page.getByLabel('Title').fill(title)
    await one.page.getByRole('button', { name: 'Show the change' }).click()
    await one.page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await expect.poll(readConfig).toContain('title: First')
    await two.page.getByText('Somebody else has changed this entry').waitFor()
    await two.page.getByRole('button', { name: 'Show the change' }).click()
    await two.page.getByRole('alert').getByText('CONFIG_CHANGED').waitFor()
    await shoot(two.page, 'servers-edit-conflict')
    await two.page.getByRole('button', { name: 'Load it again' }).click()
    await expect.poll(() => two.page.getByLabel('Title').inputValue()).toBe('First')
    expect(readConfig()).not.toContain('Second')
    expect(two.problems.filter((problem) => !problem.includes('409'))).toEqual([])
    expect(one.problems).toEqual([])
    await one.close()
    await two.close()
  })

  it(`${promise('WEB-16')} writes nothing if the file is another one by now, and shows the change again`, async () => {
    const { page, problems, close } = await bench.open('/servers/dead')
    await page.getByRole('button', { name: 'Remove…' }).click()
    const change = page.getByRole('region', { name: 'The change of config.yaml' })
    await change.locator('.del', { hasText: 'dead:' }).waitFor()
    const meanwhile = readConfig().replace('# the end', '# the end, written by somebody else')
    replaceFile(path(), meanwhile)
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await page.getByRole('alert').getByText('CONFIG_CHANGED').waitFor()
    await shoot(page, 'servers-conflict')
    expect(readConfig()).toBe(meanwhile)
    await page.getByRole('button', { name: 'Show the change again' }).click()
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await expect.poll(readConfig).not.toContain('dead:')
    expect(readConfig()).toContain('written by somebody else')
    // The refusal itself is an error in the console of a browser.
    expect(problems.filter((problem) => !problem.includes('409'))).toEqual([])
    await close()
  })

  it(`${promise('WEB-3')} ${promise('WEB-16')} shows an agent’s own file, takes a server from it, and connects the agent`, async () => {
    const { page, problems, close } = await bench.open('/settings/mcp/codex')
    await page.getByRole('heading', { name: join(codex, 'config.toml') }).waitFor()
    await page.getByRole('button', { name: 'Import thoughts…' }).click()
    const change = page.getByRole('region', { name: 'The change of config.yaml' })
    await change.locator('.add', { hasText: 'thoughts:' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'mcp-settings')
    await page.getByRole('button', { name: 'Write to config.yaml' }).click()
    await page.getByRole('link', { name: 'in config.yaml' }).click()
    const row = page.getByRole('listitem').filter({ has: page.locator('details[open]') })
    await row.getByText('ready', { exact: true }).waitFor()
    expect(readFileSync(join(codex, 'config.toml'), 'utf8')).toBe(CODEX)
    await page.goto(`${bench.gateway.url}/settings/mcp/codex`)
    await page.getByRole('link', { name: 'Edit thoughts…' }).waitFor()
    await page.getByRole('button', { name: 'Make the entry and a token' }).click()
    const entry = page.getByRole('region', { name: 'The entry' })
    await entry.getByText('[mcp_servers.gw]').waitFor()
    await entry.getByText(/^The token is shown only now/).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'mcp-settings-connect')
    expect(bench.gateway.records()).toContainEqual(expect.objectContaining({ type: 'TOKEN_MINTED', agent: 'codex' }))
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-11')} are usable on a phone and in the dark`, async () => {
    const { page, close } = await bench.open('/servers/memory', { size: 'phone', scheme: 'dark' })
    await page.getByRole('button', { name: 'Restart' }).waitFor()
    await page.getByRole('link', { name: 'Edit…' }).click()
    await page.getByLabel('Arguments').waitFor()
    await shoot(page, 'servers-edit-phone-dark')
    expect(await findBarriers(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(page, 'servers-phone-dark')
    await close()
  })
})

async function readPid({ gateway }: WebBench, id: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  const response = await fetch(`${gateway.url}/api/servers/${id}`, { headers })
  return ((await response.json()) as { readonly pid?: number }).pid
}
