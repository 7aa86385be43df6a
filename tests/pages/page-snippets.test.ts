import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readKitConfig } from '@sallyport/kit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cli } from '../../packages/gateway/src/cli/cli.test-kit.ts'
import { loadSettings } from '../../packages/gateway/src/config/config.ts'
import { parseToolsFile, readToolsFile } from '../../packages/gateway/src/governance/tools-file/tools-file.ts'
import { filesBelow } from '../harness/repository.ts'
import { snippetsOf } from '../harness/snippets.ts'

const ENVIRONMENT = {
  HOME: '/home/ann',
  OTLP_TOKEN: 'x',
  DATA_TOKEN: 'x',
  GITHUB_TOKEN: 'x',
  HOOK_SECRET: 'a secret of thirty-two bytes or so',
  ANTHROPIC_API_KEY: 'x',
  // Of the example of private data.
  EXAMPLE: '/example',
  WORK: '/tmp/work',
  CHAT_URL: 'http://127.0.0.1:4001/mcp',
  CHARTS_URL: 'http://127.0.0.1:4002/mcp',
  CHARTS_ISOLATED_URL: 'http://127.0.0.1:4003/mcp',
  LEDGER_URL: 'http://127.0.0.1:4004/mcp',
}

/** Read by a test of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'tests/pages/readme.test.ts',
  'docs/configuration.md': 'packages/gateway/src/config/documentation.test.ts',
  'docs/docker-gateway.md': 'packages/gateway/src/config/documentation.test.ts',
  'docs/kit/config.md': 'packages/kit/src/config/documentation.test.ts',
  'docs/path-rules.md': 'packages/gateway/src/governance/path-rules-page.test.ts',
  'docs/tools-yaml.md': 'tests/pages/tools-page.test.ts',
}
/** Those of other programs, and of the kit. */
const PROMETHEUS = 'scrape_configs:'
const KIT_PAGE = 'docs/kit/client.md'

const pages = filesBelow('.').filter((path) =>
  /^(?:README|docs\/.*|packages\/\w+\/README|examples\/[\w-]+\/README)\.md$/.test(path),
)
const yaml = pages.filter((page) => !(page in ELSEWHERE)).flatMap((page) => snippetsOf(page, 'yaml'))

function homeWith(files: Readonly<Record<string, string>>): string {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-pages-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text)
  return home
}

describe('a configuration that a page shows', () => {
  const settings = yaml.filter(
    ({ text, page }) => !/^tools:/.test(text) && !text.startsWith(PROMETHEUS) && page !== KIT_PAGE,
  )

  it.each(settings)('loads without a warning: $page $text', async ({ text }) => {
    const { warnings } = await loadSettings({ home: homeWith({ 'config.yaml': text }), environment: ENVIRONMENT })
    expect(warnings).toEqual([])
  })

  it.each(yaml.filter(({ text }) => /^tools:/.test(text)))('of tools is read without a warning: $page', ({ text }) => {
    expect(readToolsFile(parseToolsFile(text), 'tools.yaml')).toMatchObject({ ok: true, warnings: [] })
  })

  it.each(yaml.filter(({ page }) => page === KIT_PAGE))('is read by the kit: $page', async ({ text }) => {
    const warnings: string[] = []
    const cwd = homeWith({ 'config.yaml': text })
    const options = { cwd, environment: {}, onWarning: (warning: string) => warnings.push(warning) }
    expect(await readKitConfig('records', options)).toMatchObject({ kind: 'client', settings: { readTimeout: 60 } })
    expect(await readKitConfig('files', options)).toMatchObject({ kind: 'upstream' })
    expect(warnings).toEqual([])
  })

  const profiles = pages.flatMap((page) => snippetsOf(page, 'json')).filter(({ text }) => text.includes('"executors"'))

  it.each(profiles)('of profiles is read without a warning: $page', async ({ text }) => {
    const home = homeWith({ 'config.yaml': '', 'profiles.json': text })
    const { warnings } = await loadSettings({ home, environment: ENVIRONMENT })
    expect(warnings).toEqual([])
  })

  it('is found in the pages', () => {
    expect([settings.length, profiles.length, yaml.length]).toEqual([12, 2, 17])
  })
})

describe('a command that a page shows', () => {
  const lines = pages
    .flatMap((page) => snippetsOf(page, 'sh').flatMap(({ text }) => text.split('\n').map((line) => ({ page, line }))))
    .map(({ page, line }) => ({
      page,
      words: /^\s*(?:npx )?sallyport ([^#|]+)/.exec(line)?.[1]?.trim().split(/\s+/) ?? [],
    }))
    .filter(({ words }) => words.length > 0 && !words[0]?.startsWith('-'))

  it('is found in the pages', () => {
    expect(lines.length).toBeGreaterThan(100)
  })

  it.each([...new Set(lines.map(({ words }) => words[0] ?? ''))])(
    'exists, with its flags: sallyport %s',
    async (command) => {
      for (const { page, words } of lines.filter((line) => line.words[0] === command)) {
        const own = words.slice(0, words.includes('--') ? words.indexOf('--') : undefined)
        const path = await commandOf(own)
        const { stdout } = await cli([...path, '--help'])
        const flags = own.flatMap((word) => /^--[a-z-]+/.exec(word)?.[0] ?? [])
        expect([page, words, flags.filter((flag) => !new RegExp(`${flag}(?![\\w-])`).test(stdout))]).toEqual([
          page,
          words,
          [],
        ])
      }
    },
  )
})

/** The words that name the command, with the one that a group means by itself. */
async function commandOf([command = '', next = '']: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await cli([command, '--help'])
  const alone = new RegExp(`\`sallyport ${command}\` alone means \`sallyport ${command} (\\w+)\``).exec(stdout)?.[1]
  if (/^[a-z]+$/.test(next) && (await cli([command, next, '--help'])).stdout.includes(`sallyport ${command} ${next}`))
    return [command, next]
  return alone === undefined ? [command] : [command, alone]
}
