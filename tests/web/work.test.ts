import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench, type WebPage } from './web-bench.ts'

const WRITE = 'filesystem_write_file'
/** A name that a reader would take for another one, markup, and a command of terminals. */
const HOSTILE = 'p\u0430y\u200bpal\u202egpj.exe <img src=x onerror=alert(1)> \u001b[31mred'

describe('the screens on which people work', () => {
  const files = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-web-')))
  let bench: WebBench
  let client: LegacyClient
  let opened: WebPage

  beforeAll(async () => {
    bench = await openWebBench({
      mcp_servers: {
        filesystem: { ...npmServer('filesystem', files), sensitivity: 'internal' },
        memory: { ...npmServer('memory'), env: { MEMORY_FILE_PATH: join(files, 'memory.json') }, isolated: true },
      },
      governance: { enforce: true, patterns: { 'mcp__memory__*': { secrets: 'redact' } } },
      isolation: { strategy: 'extract' },
    })
    client = await LegacyClient.open(bench.gateway.mcp)
    opened = await bench.open('/approvals')
  })

  afterAll(async () => {
    await bench?.close()
    rmSync(files, { recursive: true, force: true })
  })

  it(`${promise('WEB-4')} ${promise('GOV-20')} a waiting call appears by itself, with hidden characters visible, and runs when it is approved`, async () => {
    const { page, problems } = opened
    await page.getByText('Nothing waits for you').waitFor()
    await shoot(page, 'approvals-empty')
    const answer = client.call(WRITE, { path: join(files, 'one.txt'), content: HOSTILE })
    const request = page.getByRole('article', { name: 'The call' })
    await request.getByText('filesystem/write_file').waitFor()
    await expect.poll(() => page.title()).toBe('(1) Approvals · Sallyport')
    for (const code of ['U+0430', 'U+200B', 'U+202E', 'U+001B']) await request.getByText(code).waitFor()
    expect(await request.locator('img').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'approvals')
    expect(existsSync(join(files, 'one.txt'))).toBe(false)
    await page.keyboard.press('a')
    await page.getByRole('status').getByText('Approved once').waitFor()
    expect(await answer).not.toHaveProperty('isError', true)
    expect(readFileSync(join(files, 'one.txt'), 'utf8')).toBe(HOSTILE)
    expect(problems).toEqual([])
  })

  it(`${promise('WEB-4')} a folded value has to be opened before the call can be approved`, async () => {
    const { page } = opened
    const answer = client.call(WRITE, { path: join(files, 'two.txt'), content: `${'x'.repeat(5_000)} the end` })
    const approve = page.getByRole('button', { name: 'Approve once' })
    await page.getByText('Open 1 folded value to approve').waitFor()
    expect(await approve.isDisabled()).toBe(true)
    await page.keyboard.press('a')
    await page.getByRole('button', { name: /show all 5,008 characters/ }).click()
    await page.getByText('the end').waitFor()
    await approve.click()
    expect(await answer).not.toHaveProperty('isError', true)
  })

  it(`${promise('WEB-4')} shows the permission, and what the agent wrote where that is not what is sent`, async () => {
    const { page, problems } = opened
    const key = ['AKIA', 'QYLPMN5HFIQR7XYA'].join('')
    const entity = { name: 'deploy', entityType: 'note', observations: [`the key is ${key}`] }
    const answer = client.call('memory_create_entities', { entities: [entity], _intent: 'was it new?' })
    const request = page.getByRole('article', { name: 'The call' })
    await request.getByText('memory/create_entities').waitFor()
    await request.getByRole('img', { name: 'READ, WRITE, CONNECT' }).waitFor()
    await request.getByText('as they will be sent: keys and tokens are removed from them').waitFor()
    const written = request.getByRole('region', { name: /^What .* wrote$/ })
    await written.getByText('was it new?').waitFor()
    expect(await request.getByText('was it new?').count()).toBe(1)
    expect(await page.getByText(key).count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'approvals-written')
    await page.keyboard.press('a')
    await page.getByRole('status').getByText('Approved once').waitFor()
    await answer
    const stored = readFileSync(join(files, 'memory.json'), 'utf8')
    expect(stored).toContain('the key is ')
    expect(stored).not.toContain(key)
    expect(problems).toEqual([])
  })

  it(`${promise('WEB-4')} a denial gives the model the reason, and the file is not written`, async () => {
    const { page } = opened
    const answer = client.call(WRITE, { path: join(files, 'three.txt'), content: 'three' })
    await page.getByText('three.txt').waitFor()
    await page.keyboard.press('d')
    await page.getByLabel(/Reason, which the model/).fill('write it elsewhere')
    await page.getByRole('button', { name: 'Deny', exact: true }).click()
    expect(JSON.stringify(await answer)).toContain('write it elsewhere')
    expect(existsSync(join(files, 'three.txt'))).toBe(false)
  })

  it(`${promise('WEB-4')} "always" shows the lines of tools.yaml that it will write, and writes them`, async () => {
    const { page, problems } = opened
    const answer = client.call(WRITE, { path: join(files, 'four.txt'), content: 'four' })
    await page.getByText('four.txt').waitFor()
    const file = join(bench.gateway.home, 'tools.yaml')
    const before = readFileSync(file, 'utf8')
    await page.keyboard.press('w')
    await page.getByLabel('Change of tools.yaml').locator('.add', { hasText: 'requires_approval: false' }).waitFor()
    expect(readFileSync(file, 'utf8')).toBe(before)
    await shoot(page, 'approvals-always')
    await page.getByRole('button', { name: 'Write it and approve' }).click()
    expect(await answer).not.toHaveProperty('isError', true)
    expect(readFileSync(file, 'utf8')).toContain('requires_approval: false')
    expect(await client.call(WRITE, { path: join(files, 'five.txt'), content: 'five' })).not.toHaveProperty(
      'isError',
      true,
    )
    expect(problems).toEqual([])
  })

  it(`${promise('WEB-5')} the stream shows each call, and one click what decided about it`, async () => {
    const { page, problems } = opened
    await page.keyboard.press('g')
    await page.keyboard.press('l')
    await page.getByText('following').waitFor()
    await client.call('filesystem_list_directory', { path: files })
    await page.getByRole('link', { name: /filesystem\/list_directory/ }).waitFor()
    await page.getByRole('button', { name: 'deny' }).click()
    const denied = page.getByRole('link', { name: /deny/ }).filter({ hasText: 'filesystem/write_file' })
    await denied.waitFor()
    await expect.poll(() => page.getByRole('link', { name: /filesystem\/list_directory/ }).count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'live')
    await denied.click()
    await page.getByText('Refused. It was never sent.').waitFor()
    await page.getByText('write it elsewhere').first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'call')
    expect(problems).toEqual([])
  })

  it(`${promise('WEB-6')} a session shows what raised its label, and what is blocked once it is raised`, async () => {
    const { page, problems } = opened
    await page.goto(`${bench.gateway.url}/sessions`)
    await page.getByText('filesystem is INTERNAL').waitFor()
    await page.getByText('Nothing yet: it has not seen private data.').waitFor()
    await page.getByRole('button', { name: 'Raise to CONFIDENTIAL' }).click()
    await page.getByText('What is blocked while it is CONFIDENTIAL').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'sessions')
    expect(problems).toEqual([])
  })

  it(`${promise('WEB-10')} the overview counts the day, in light and dark, on a desk and a phone`, async () => {
    for (const scheme of ['light', 'dark'] as const)
      for (const size of ['desktop', 'phone'] as const) {
        const { page, problems, close } = await bench.open('/', { scheme, size })
        await page.getByRole('heading', { name: 'Nothing needs you' }).waitFor()
        await page.getByText('Asked a person').waitFor()
        expect(await findBarriers(page)).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true)
        await shoot(page, `overview-${scheme}-${size}`)
        expect(problems).toEqual([])
        await close()
      }
  })
})
