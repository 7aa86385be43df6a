import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findMissingPackage } from './missing-package.ts'

const run = promisify(execFile)
const require = createRequire(import.meta.url)

describe('the package that was not found', () => {
  it.each(['no-such-package', '@no-such/package', '@no-such/package/deep/file.js', 'no-such-package/file'])(
    'is named for %s',
    (specifier) => {
      const name = specifier.replace(/\/(deep\/)?file.*$/, '')
      expect(findMissingPackage(failureOf(() => require(specifier)))).toBe(name)
    },
  )

  it('is undefined if a file is missing, or if something else is wrong', () => {
    const missing = join(import.meta.dirname, 'no-such-file.cjs')
    expect(findMissingPackage(failureOf(() => require(missing)))).toBeUndefined()
    expect(findMissingPackage(new Error("Cannot find module 'x'"))).toBeUndefined()
    expect(findMissingPackage('text')).toBeUndefined()
  })

  it('is read from the error of an import', () => {
    const error = Object.assign(new Error("Cannot find package 'jose' imported from /x/y.js"), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
    expect(findMissingPackage(error)).toBe('jose')
  })
})

describe('a package whose folder is empty', () => {
  let root: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sallyport-missing-'))
    for (const name of ['jose', '@hono/node-server']) mkdirSync(join(root, 'node_modules', name), { recursive: true })
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it.each([
    ['jose', 'jose'],
    ['jose/errors', 'jose'],
    ['@hono/node-server', '@hono/node-server'],
    ['@hono/node-server/serve-static', '@hono/node-server'],
  ])('is named for %s', async (specifier, name) => {
    const program = `import('${specifier}').catch(({ code, message }) => console.log(JSON.stringify({ code, message })))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
    const { code, message } = JSON.parse(stdout)
    expect(findMissingPackage(Object.assign(new Error(message), { code }))).toBe(name)
  })
})

function failureOf(load: () => unknown): unknown {
  try {
    return load()
  } catch (error) {
    return error
  }
}
