import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { REPOSITORY, replaceFile } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { findBarriers, npmServer, openWebBench, shoot, type WebBench } from './web-bench.ts'

const require = createRequire(import.meta.url)
const OFFERING = fileURLToPath(new URL('../fixtures/offering-server.mjs', import.meta.url))

describe('the rules of the tools', () => {
  const files = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-web-')))
  let bench: WebBench
  let client: LegacyClient

  beforeAll(async () => {
    bench = await openWebBench({
      mcp_servers: {
        filesystem: { ...npmServer('filesystem', files), sensitivity: 'internal' },
        memory: npmServer('memory'),
        everything: npmServer('everything'),
      },
      governance: { enforce: true, patterns: { 'mcp__memory__delete_*': { risk_level: 'medium' } } },
    })
    client = await LegacyClient.open(bench.gateway.mcp)
  })

  afterAll(async () => {
    await bench?.close()
    rmSync(files, { recursive: true, force: true })
  })

  it('looks', async () => {
    for (let i = 0; i < 5; i++) await client.call('filesystem_list_directory', { path: files })
    const { page, problems } = await bench.open('/governance')
    await page.getByText('filesystem/read_text_file').waitFor()
    await shoot(page, 'gov')
    await page.getByRole('combobox', { name: 'Approval of filesystem/list_directory', exact: true }).selectOption('asks')
    await page.getByRole('combobox', { name: 'Risk of filesystem/list_directory', exact: true }).selectOption('high')
    await page.getByText('of the last 24').waitFor()
    await shoot(page, 'gov-edit')
    const phone = await bench.open('/governance', { size: 'phone', scheme: 'dark' })
    await phone.page.getByText('filesystem/read_text_file').waitFor()
    await shoot(phone.page, 'gov-phone')
    expect(problems).toEqual([])
  })
})
