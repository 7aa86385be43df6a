import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packLibraries } from '../harness/pack-packages.ts'
import { ROOT, textOf } from '../harness/repository.ts'

const run = promisify(execFile)
const subpaths = Object.keys(JSON.parse(textOf('packages/kit/package.json')).exports)

/** What `npm install @sallyport/kit` gives to somebody who has nothing but the registry. */
describe('the packed kit', () => {
  let root: string
  let tarballs: readonly string[]
  let folder: string

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'sallyport-packed-kit-'))
    tarballs = await packLibraries(root)
    folder = join(root, 'empty')
    mkdirSync(folder)
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...tarballs], { cwd: folder })
  }, 180_000)
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  it.each(subpaths)('can be imported at %s, without the optional packages', async (subpath) => {
    const program = `console.log(Object.keys(await import('${join('@sallyport/kit', subpath)}')).length > 0)`
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder })
    expect(stdout).toBe('true\n')
  })

  it('has nothing of the tests', () => {
    const own = join(folder, 'node_modules', '@sallyport')
    const files = readdirSync(own, { recursive: true, encoding: 'utf8' })
    expect(files).toContain(join('kit', 'dist', 'index.js'))
    expect(files.filter((file) => /\.test|tsbuildinfo|(?<!\.d)\.ts$/.test(file))).toEqual([])
  })

  it('has manifests that tools and compilers understand, and so has core', async () => {
    const tool = (name: string): string => join(ROOT, 'node_modules', '.bin', name)
    expect(tarballs).toHaveLength(2)
    for (const tarball of tarballs) {
      await run(tool('publint'), ['run', '--strict', tarball])
      await run(tool('attw'), ['--profile', 'esm-only', tarball])
    }
  })
})
