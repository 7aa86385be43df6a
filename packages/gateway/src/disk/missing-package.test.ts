import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findMissingPackage } from './missing-package.ts'

const require = createRequire(import.meta.url)

describe('the package that was not found', () => {
  it.each(['no-such-package', '@no-such/package', '@no-such/package/deep/file.js', 'no-such-package/file'])(
    'is named for %s',
    (specifier) => {
      const name = specifier.replace(/\/(deep\/)?file.*$/, '')
      expect(findMissingPackage(failureOf(() => require(specifier)))).toBe(name)
    },
  )

  it('is none where a file is missing, or where something else is wrong', () => {
    const missing = join(import.meta.dirname, 'no-such-file.cjs')
    expect(findMissingPackage(failureOf(() => require(missing)))).toBeUndefined()
    expect(findMissingPackage(new Error("Cannot find module 'x'"))).toBeUndefined()
    expect(findMissingPackage('text')).toBeUndefined()
  })

  it('is read from what an import says', () => {
    const error = Object.assign(new Error("Cannot find package 'jose' imported from /x/y.js"), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
    expect(findMissingPackage(error)).toBe('jose')
  })
})

function failureOf(load: () => unknown): unknown {
  try {
    return load()
  } catch (error) {
    return error
  }
}
