import { describe, expect, it } from 'vitest'
import { buildChildEnvironment } from './child-environment.ts'

describe('childEnvironment', () => {
  it('passes on what a program needs and nothing else', () => {
    const inherited = {
      PATH: '/bin',
      HOME: '/home/ada',
      LC_ALL: 'C',
      XDG_CACHE_HOME: '/cache',
      TZ: undefined,
      ANTHROPIC_API_KEY: 'secret',
      AWS_SECRET_ACCESS_KEY: 'secret',
      HTTPS_PROXY: 'http://user:secret@proxy',
      NODE_OPTIONS: '--inspect',
      LD_PRELOAD: '/evil.so',
      LC_lower: 'x',
      XDG_SECRET: 'x',
    }
    expect(buildChildEnvironment({ inherited, own: {}, mark: 's.r.db.1' })).toEqual({
      PATH: '/bin',
      HOME: '/home/ada',
      LC_ALL: 'C',
      XDG_CACHE_HOME: '/cache',
      SALLYPORT_MARK: 's.r.db.1',
    })
  })

  it('lets the entry replace what is inherited, but not the mark', () => {
    const own = { PATH: '/own', URL: 'x', SALLYPORT_MARK: 'forged' }
    expect(buildChildEnvironment({ inherited: { PATH: '/bin' }, own, mark: 's.r.db.1' })).toEqual({
      PATH: '/own',
      URL: 'x',
      SALLYPORT_MARK: 's.r.db.1',
    })
  })

  it('preserves the mark of a gateway above', () => {
    const inherited = { SALLYPORT_MARK: 'outer.1.shell.1' }
    const { SALLYPORT_MARK } = buildChildEnvironment({ inherited, own: {}, mark: 's.r.db.1' })
    expect(SALLYPORT_MARK).toBe('outer.1.shell.1 s.r.db.1')
  })
})
