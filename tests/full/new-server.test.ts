import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Check } from '../conformance/check.ts'
import { type Revision, runAgainstServer } from '../conformance/suite.ts'
import { packLibraries } from '../harness/pack-packages.ts'
import { eventually } from '../harness/processes.ts'
import { textOf } from '../harness/repository.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { promise } from '../promises.ts'

const run = promisify(execFile)

/** All others ask for tools, prompts and resources that a server is given for the suite's sake. */
const APPLICABLE: readonly (readonly [Revision, readonly string[]])[] = [
  [
    '2025-11-25',
    [
      'dns-rebinding-protection',
      'logging-set-level',
      'ping',
      'server-initialize',
      'server-session-lifecycle',
      'server-sse-multiple-streams',
      'tools-list',
    ],
  ],
  [
    '2026-07-28',
    [
      'dns-rebinding-protection',
      'http-header-validation',
      'input-required-result-unsupported-methods',
      'server-sse-multiple-streams',
      'tools-list',
    ],
  ],
]

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-new-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe(`a project that \`sallyport new server\` has made (${promise('KIT-16')})`, () => {
  let project: string
  let environment: Record<string, string | undefined>

  beforeAll(async () => {
    const made = await runCommand(['new', 'server', '@acme/tea-house'], { cwd: root })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('cd tea-house\n') })
    project = join(root, 'tea-house')
    environment = {
      PATH: process.env.PATH,
      HOME: root,
      SALLYPORT_DATA: join(root, 'data'),
      SALLYPORT_MARK: process.env.SALLYPORT_MARK,
    }
    await run('npm', ['install', '--no-audit', '--no-fund', ...(await packLibraries(root))], { cwd: project })
  }, 180_000)

  it('passes its own tests', async () => {
    const { stdout } = await run('npm', ['test'], { cwd: project, env: { ...environment, NO_COLOR: '1' } })
    expect(stdout).toMatch(/Test Files +2 passed \(2\)/)
  })

  describe('finds tools that catch every error', () => {
    const lint = (source: string) => {
      writeFileSync(
        join(project, 'src/tools/planted.ts'),
        `export async function planted(work: () => Promise<number>) {\n  ${source}\n}\n`,
      )
      return run('npm', ['run', 'lint'], { cwd: project, env: environment })
    }

    afterAll(() => rmSync(join(project, 'src/tools/planted.ts'), { force: true }))

    it.each([
      'try { return await work() } catch { return 0 }',
      'try { return await work() } catch (error) { return String(error) }',
      "try { return await work() } catch (error) { throw new Error('No.') }",
      'return work().catch(() => 0)',
      'return work().then((value) => value, () => 0)',
    ])('%s', async (source) => {
      await expect(lint(source)).rejects.toMatchObject({
        stderr: expect.stringContaining('must not catch every error'),
      })
    })

    it.each([
      'try { return await work() } catch (error) { if (error instanceof RangeError) return 0; throw error }',
      "try { return await work() } catch (cause) { throw new Error('No.', { cause }) }",
      'return work().then((value) => value + 1)',
    ])('and not %s', async (source) => {
      await lint(source)
    })
  })

  it('says what is missing when it is started without a secret', async () => {
    const started = run(process.execPath, ['dist/src/server.js'], { cwd: project, env: environment })
    await expect(started).rejects.toMatchObject({ stderr: expect.stringContaining('JWT_SECRET') })
  })

  it.each(APPLICABLE)(
    'passes the general checks of the conformance suite of %s',
    async (revision, scenarios) => {
      const { child, url } = await serve()
      let checks: readonly Check[]
      try {
        checks = await runAgainstServer(url.replace('127.0.0.1', 'localhost'), revision)
      } finally {
        child.kill('SIGTERM')
        await once(child, 'close')
      }
      const applicable = checks.filter(({ scenario }) => scenarios.includes(scenario))
      expect(applicable.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')).toEqual([])
      const kept = applicable.filter(({ status }) => status === 'SUCCESS').map(({ scenario }) => scenario)
      expect([...new Set(kept)].sort()).toEqual(scenarios)
      expect(child.exitCode).toBe(0)
    },
    120_000,
  )

  async function serve(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
    const env = { ...environment, PORT: '0' }
    const args = ['dist/src/server.js', 'tea-house-local']
    const child = spawn(process.execPath, args, { cwd: project, env, stdio: ['ignore', 'ignore', 'pipe'] })
    let words = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      words += text
    })
    await eventually(
      () => words,
      (output) => / serves \S+\n/.test(output),
    )
    return { child, url: / serves (\S+)\n/.exec(words)?.[1] ?? '' }
  }
})

describe('sallyport new server', () => {
  it('writes the name into every file that needs it, and reports as JSON what it created', async () => {
    const { code, stdout } = await runCommand(['new', 'server', '@acme/0x10', '--json'], { cwd: root })
    const { folder, files, ...output } = JSON.parse(stdout)
    expect({ code, ...output }).toEqual({
      code: 0,
      name: '@acme/0x10',
      next: ['cd 0x10', 'npm install', 'npm test', 'npm run dev'],
    })
    expect(files).toEqual(
      expect.arrayContaining(['.gitignore', 'config.yaml', 'src/server.ts', 'tests/unit/tools.test.ts']),
    )
    const texts = files.map((file: string) => readFileSync(join(folder, file), 'utf8'))
    expect(texts.filter((text: string) => text.includes('my-server'))).toEqual([])
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name).toBe('@acme/0x10')
  })

  it('accepts an empty folder, and leaves every other one alone', async () => {
    mkdirSync(join(root, 'empty'))
    expect((await runCommand(['new', 'server', 'empty'], { cwd: root })).code).toBe(0)
    const before = readdirSync(root).sort()
    const again = await runCommand(['new', 'server', 'empty', '--json'], { cwd: root })
    expect(again.code).toBe(2)
    expect(errorOf(again)).toMatchObject({ code: 'USAGE', message: expect.stringContaining('is not empty') })
    expect(readdirSync(root).sort()).toEqual(before)
  })

  it.each([
    'Tea',
    '../tea',
    'tea/house',
    '.tea',
    '_tea',
    'tea house',
    '@acme',
    '@acme/',
    '',
    'té',
    'node_modules',
    'fs',
    'vitest',
    '@sallyport/kit',
    'x'.repeat(215),
    "tea'); process.exit(); ('",
  ])('refuses the name %j, and creates nothing', async (name) => {
    const before = readdirSync(root).sort()
    const refused = await runCommand(['new', 'server', '--json', '--', name], { cwd: root })
    expect(refused.code).toBe(2)
    expect(errorOf(refused).hint).toEqual(expect.any(String))
    expect(readdirSync(root).sort()).toEqual(before)
  })

  it('gives projects the packages that this repository is built and tested with', () => {
    const own = JSON.parse(textOf('package.json')).devDependencies
    const kit = JSON.parse(textOf('packages/kit/package.json'))
    for (const file of ['packages/gateway/templates/server/package.json', 'examples/template/package.json']) {
      const { dependencies, devDependencies } = JSON.parse(textOf(file))
      expect(dependencies[kit.name]).toBe(kit.version)
      for (const [name, version] of Object.entries(devDependencies)) expect([name, version]).toEqual([name, own[name]])
    }
  })
})
