import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../packages/gateway/src/config/config.ts'
import { ROOT, textOf } from '../harness/repository.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'

const run = promisify(execFile)

function snippets(language: string): readonly string[] {
  const fences = textOf('README.md').matchAll(/```(\w+)\n([\s\S]*?)```/g)
  return [...fences].filter(([, name]) => name === language).map(([, , text = '']) => text)
}

describe('the README', () => {
  let folder: string
  let gateway: RunningGateway

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-readme-'))
    const place = {
      home: join(ROOT, 'packages/gateway/demo'),
      state: join(folder, '.sallyport-demo'),
      writeConfig: () => undefined,
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
    gateway = await runGateway({ place, args: [] })
  })
  afterAll(() => gateway.stop())

  it('shows a configuration that loads without a warning', async () => {
    const [yaml = ''] = snippets('yaml')
    const home = mkdtempSync(join(folder, 'home-'))
    writeFileSync(join(home, 'config.yaml'), yaml)
    const { settings, warnings } = await loadSettings({ home, environment: {} })
    expect(warnings).toEqual([])
    expect(settings.servers.map(({ id }) => id)).toEqual(['files', 'memory', 'everything'])
  })

  it('shows a curl line that calls a tool of the demonstration', async () => {
    const curl = snippets('sh').find((text) => text.startsWith('curl ')) ?? ''
    const here = curl.replace('http://127.0.0.1:4747', gateway.url)
    const { stdout } = await run('sh', ['-c', here], { cwd: folder })
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { content: [{ type: 'text' }] } })
  })

  it('shows commands that ask the running demonstration', async () => {
    const commands = snippets('sh').find((text) => text.startsWith('npx sallyport')) ?? ''
    const here = commands.replaceAll('--state .sallyport-demo', `--state ${gateway.state}`)
    const { stdout } = await run('sh', ['-ec', here], { cwd: ROOT })
    expect(stdout).toContain('mcp__clock__current_time')
  })
})

describe('the page on embedding', () => {
  it('shows a program that runs', async () => {
    const folder = mkdtempSync(join(ROOT, 'packages/gateway/.embedding-'))
    try {
      const [, program = ''] = /```ts\n([\s\S]*?)```/.exec(textOf('docs/embedding.md')) ?? []
      const clock = textOf('packages/gateway/demo/servers/clock.mjs')
      writeFileSync(join(folder, 'clock.mjs'), clock.replace('../../dist/packages/kit/index.js', '@sallyport/kit'))
      writeFileSync(join(folder, 'program.mjs'), program)
      const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: folder })
      expect(stdout).toBe('true 0\ntrue 32\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
