import { describe, expect, it } from 'vitest'
import { describeLoadFailure } from './sqlite.ts'

const notFound = (name: string): Error =>
  Object.assign(new Error(`Cannot find module '${name}'\nRequire stack:`), { code: 'MODULE_NOT_FOUND' })

describe('SQLite that cannot be loaded', () => {
  it('asks for the binary of the platform only if that is missing', () => {
    const platform = describeLoadFailure(notFound('@libsql/linux-x64-gnu'))
    expect(platform.message).toContain('the package @libsql/linux-x64-gnu is missing')
    expect(platform.hint).toContain('--omit=optional')

    const own = describeLoadFailure(notFound('libsql'))
    expect(own.message).toContain('the package libsql is missing')
    expect(own.hint).toContain('installation of Sallyport is incomplete')
  })

  it('reports the system error of a binary that does not load', () => {
    const wrongSystem = Object.assign(new Error('libc.musl-x86_64.so.1: cannot open'), { code: 'ERR_DLOPEN_FAILED' })
    expect(describeLoadFailure(wrongSystem).message).toContain('libc.musl-x86_64.so.1: cannot open')
    expect(describeLoadFailure(wrongSystem).hint).not.toContain('--omit')
  })
})
