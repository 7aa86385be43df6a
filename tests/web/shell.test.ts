import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../promises.ts'
import { findBarriers, mintLoginPath, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

describe('the web page', () => {
  let bench: WebBench

  beforeAll(async () => {
    bench = await openWebBench({
      mcp_servers: {
        memory: npmServer('memory'),
        broken: { command: process.execPath, args: ['-e', 'process.exit(3)'] },
      },
    })
  })

  afterAll(() => bench?.close())

  it(`${promise('WEB-12')} opens with a login link that works once, and says so the second time`, async () => {
    const context = await bench.browser.newContext({ locale: 'en-US' })
    const page = await context.newPage()
    const url = `${bench.gateway.url}${await mintLoginPath(bench.gateway)}`
    await page.goto(url)
    await page.getByRole('navigation', { name: 'Work' }).waitFor()
    await context.clearCookies()
    await page.goto(url)
    await page.getByRole('alert').getByText('used before, or has expired').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'login')
    await context.close()
  })

  it(`${promise('WEB-15')} shows LOCKDOWN on every screen so that nobody can mistake it, and the way out`, async () => {
    const { page, problems, close } = await bench.open('/servers')
    await page.getByRole('button', { name: 'Mode: NORMAL' }).click()
    await page.getByRole('button', { name: 'Panic: LOCKDOWN now' }).click()
    const band = page.getByRole('alert').filter({ hasText: 'LOCKDOWN' })
    await band.waitFor()
    expect(await page.title()).toContain('■ LOCKDOWN')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Governance' }).click()
    await band.waitFor()
    expect(await findBarriers(page)).toEqual([])
    await band.getByRole('button', { name: 'Go to RECOVERY…' }).click()
    await page.getByLabel('Why RECOVERY?').fill('it was a drill')
    await page.getByRole('button', { name: 'Set RECOVERY' }).click()
    await page.getByRole('button', { name: 'Mode: RECOVERY' }).click()
    await page.getByRole('button', { name: 'Set NORMAL' }).click()
    await page.getByLabel('Why NORMAL?').fill('all is well')
    await page.getByRole('button', { name: 'Set NORMAL', exact: true }).last().click()
    await page.getByRole('button', { name: 'Mode: NORMAL' }).waitFor()
    const changes = bench.gateway.records().filter(({ type }) => type === 'MODE_CHANGED')
    expect(changes.map(({ to, via, why }) => [to, via, why])).toEqual([
      ['LOCKDOWN', 'web', 'panic'],
      ['RECOVERY', 'web', 'it was a drill'],
      ['NORMAL', 'web', 'all is well'],
    ])
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-15')} counts a dead server in the header, one click away`, async () => {
    const { page, problems, close } = await bench.open()
    await page
      .getByRole('navigation', { name: 'What needs you' })
      .getByRole('link', { name: /1 server is down/ })
      .click()
    await page.getByRole('heading', { name: 'Servers' }).waitFor()
    await page.locator('summary').filter({ hasText: 'broken' }).waitFor()
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-11')} is used by keys alone: go to a screen, list the keys, find a tool`, async () => {
    const { page, problems, close } = await bench.open()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('v')
    await page.getByRole('heading', { name: 'Servers' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Go to Approvals').waitFor()
    await shoot(page, 'keys')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('read graph')
    await page.getByRole('option', { name: 'memory/read_graph' }).waitFor()
    await shoot(page, 'palette')
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(/governance/)
    expect(problems).toEqual([])
    await close()
  })
})
