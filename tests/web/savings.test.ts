import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { runCommand } from '../harness/run-command.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const READ = 'filesystem/read_text_file'
const PROFILES = { executors: { CODEX: { DEFAULT: {}, DOCS: { selected_mcp_tools: ['filesystem'] } } } }

describe('the savings', () => {
  const files = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-web-')))
  let bench: WebBench

  beforeAll(async () => {
    const filesystem = { ...npmServer('filesystem', files), isolated_tools: ['read_multiple_files'] }
    const mcp_servers = { filesystem, memory: npmServer('memory') }
    bench = await openWebBench({ mcp_servers, context: { cap: 1_000 } }, { 'profiles.json': PROFILES })
  })

  afterAll(async () => {
    await bench?.close()
    rmSync(files, { recursive: true, force: true })
  })

  it(`${promise('WEB-9')} says so where nothing was called, and names one command`, async () => {
    const { page, problems, close } = await bench.open('/savings')
    await page.getByRole('heading', { name: 'Nothing to show yet' }).waitFor()
    await page.getByText('sallyport tools cost').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await shoot(page, 'savings-empty')
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-9')} shows what calls have saved, by what, and the same sums as the command line`, async () => {
    const { page, problems, close } = await bench.open('/savings?range=today')
    const path = join(files, 'long.txt')
    writeFileSync(path, 'A line that nobody has to read in full.\n'.repeat(2_000))
    const client = await LegacyClient.open(`${bench.gateway.mcp}/codex.docs`)
    await client.call('filesystem_read_text_file', { path })
    await client.call('filesystem_read_text_file', { path })
    await client.call('filesystem_list_directory', { path: files })
    await client.call('filesystem_read_multiple_files', { paths: [path] })
    // By the event stream: nobody loads the page again.
    await page.getByRole('table').getByText(READ).waitFor()
    const tools = page.getByRole('row').filter({ hasText: READ })
    await tools.getByText('2 of 2').waitFor()
    const { rows, total } = await readSavings(bench)
    const kept = (name: string): number => rows.find((row) => row.name.endsWith(name))?.tokens_kept ?? 0
    expect(kept('read_text_file') + kept('read_multiple_files')).toBe(total.tokens_kept)
    expect(await readFigure(page, 'By shaping')).toBe(kept('read_text_file'))
    expect(await readFigure(page, 'By context isolation')).toBe(kept('read_multiple_files'))
    const { tokens } = await readTokens(bench)
    const left = tokens.available - tokens.selected
    expect(left).toBeGreaterThan(0)
    expect((await readFigure(page, 'By selection, at least')) % left).toBe(0)
    expect(await readFigure(page, 'By selection, at least')).toBeGreaterThan(0)
    const profile = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'codex.docs' }) })
    await profile.waitFor()
    await page.getByText('The same as a table').click()
    const shaping = await page
      .getByRole('row')
      .filter({ hasText: /^\d\d:00/ })
      .getByRole('cell')
      .allTextContents()
    expect(shaping.map(toNumber)).toContain(kept('read_text_file'))
    expect(await findBarriers(page)).toEqual([])
    expect(problems).toEqual([])
    await close()
  })

  it(`${promise('WEB-9')} draws a bar for the day, which the pointer names, in light and dark`, async () => {
    for (const scheme of ['light', 'dark'] as const) {
      const { page, problems, close } = await bench.open('/savings', { scheme })
      const chart = page.getByRole('img', { name: /^Tokens kept out of contexts per day/ })
      await chart.waitFor()
      expect(await countColors(page)).toBeGreaterThan(3)
      await shoot(page, `savings-${scheme}`)
      const box = await chart.boundingBox()
      if (box === null) throw new Error('The chart has no size.')
      await page.mouse.move(box.x + box.width - 50, box.y + box.height / 2)
      await page.getByText(/: .* · shaping .*, selection .*, isolation /).waitFor()
      expect(await findBarriers(page)).toEqual([])
      expect(problems).toEqual([])
      await close()
    }
  })

  it(`${promise('WEB-11')} is usable on a phone`, async () => {
    const { page, close } = await bench.open('/savings', { size: 'phone', scheme: 'dark' })
    await page.getByRole('img', { name: /^Tokens kept out/ }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(page, 'savings-phone-dark')
    await close()
  })
})

interface SavingsReport {
  readonly rows: readonly { readonly name: string; readonly tokens_kept: number }[]
  readonly total: { readonly tokens_kept: number }
}

async function readSavings({ gateway }: WebBench): Promise<SavingsReport> {
  const { stdout } = await runCommand(['tools', 'savings', '--json', '--state', gateway.state])
  return JSON.parse(stdout) as SavingsReport
}

async function readTokens({ gateway }: WebBench) {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  const response = await fetch(`${gateway.url}/api/agents/codex/tools?variant=docs`, { headers })
  return (await response.json()) as { readonly tokens: { readonly selected: number; readonly available: number } }
}

const toNumber = (text: string): number => Number(text.replaceAll(',', ''))

/** The exact number is in the title of the rounded one. */
async function readFigure(page: Page, name: string): Promise<number> {
  const figure = page.locator('dl.figures > div').filter({ hasText: name }).locator('dd')
  return toNumber((await figure.getAttribute('title')) ?? '')
}

/** How many colors the drawing has. */
const countColors = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('.chart canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return new Set(new Uint32Array(data.buffer)).size
  })()`)
