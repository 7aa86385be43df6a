import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { describe, expect, it } from 'vitest'
import {
  fileModeOf,
  isRoot,
  nextChange,
  readStandingToken,
  replaceBySymlink,
  TestTokens,
} from './local-tokens.test-kit.ts'

const bench = new TestTokens()

describe('the standing tokens', () => {
  it('are made at the first start, closed to others, and kept', async () => {
    const tokens = await bench.open()
    const operator = readFileSync(bench.file('operator'), 'utf8').trim()
    const agent = readFileSync(bench.file('agent'), 'utf8').trim()
    expect(operator).toMatch(/^spo_[\w-]{43}$/)
    expect(agent).toMatch(/^spa_[\w-]{43}$/)
    expect([fileModeOf(bench.file('')), fileModeOf(bench.file('operator')), fileModeOf(bench.file('agent'))]).toEqual([
      0o700, 0o600, 0o600,
    ])
    const user = userInfo().username
    const common = { user, agent: 'any', profile: 'default' }
    expect(tokens.verify(operator)?.principal).toEqual({ ...common, session: 'operator', role: 'operator' })
    expect(tokens.verify(agent)?.principal).toEqual({ ...common, session: 'local', role: 'agent' })
    expect((await bench.open()).verify(operator)).toBeDefined()
    expect(readStandingToken(bench.state, 'operator')).toBe(operator)
    expect(bench.troubles).toEqual([])
  })

  it.each([
    ['could be read by others', () => chmodSync(bench.file('operator'), 0o644), 'could be read by other users'],
    ['could be written by others', () => chmodSync(bench.file('operator'), 0o620), 'can be written by other users'],
    ['is empty', () => writeFileSync(bench.file('operator'), ''), 'does not hold a token'],
    ['is cut', () => writeFileSync(bench.file('operator'), 'spo_abc\n'), 'does not hold a token'],
    [
      'holds an agent token',
      () => writeFileSync(bench.file('operator'), readFileSync(bench.file('agent'))),
      'does not hold a token',
    ],
    ['is huge', () => writeFileSync(bench.file('operator'), 'x'.repeat(1_000_000)), 'more than any token needs'],
    ['is a link', () => replaceBySymlink(bench.file('operator')), 'symbolic link'],
  ])('are replaced at the start when the file %s', async (_, harm, words) => {
    const before = await bench.open()
    const old = readStandingToken(bench.state, 'operator') as string
    before.close()
    harm()
    expect(readStandingToken(bench.state, 'operator')).toBeUndefined()
    const tokens = await bench.open()
    const fresh = readStandingToken(bench.state, 'operator') as string
    expect(fresh).not.toBe(old)
    expect(tokens.verify(old)).toBeUndefined()
    expect(tokens.verify(fresh)?.principal.role).toBe('operator')
    expect(fileModeOf(bench.file('operator'))).toBe(0o600)
    expect(bench.troubles).toHaveLength(1)
    expect(bench.troubles[0]).toContain(bench.file('operator'))
    expect(bench.troubles[0]).toContain(words)
    expect(bench.troubles[0]).not.toContain(old)
  })

  it.runIf(isRoot)('are replaced when the file belongs to another user', async () => {
    const before = await bench.open()
    const old = readStandingToken(bench.state, 'operator') as string
    before.close()
    chownSync(bench.file('operator'), 12345, 12345)
    expect((await bench.open()).verify(old)).toBeUndefined()
    expect(statSync(bench.file('operator')).uid).toBe(0)
    expect(bench.troubles[0]).toContain('belongs to another user (uid 12345)')
  })

  it('stop counting while they can be read by others', async () => {
    const tokens = await bench.open()
    const operator = readStandingToken(bench.state, 'operator') as string
    const changed = nextChange(tokens)
    chmodSync(bench.file('operator'), 0o604)
    await changed
    expect(tokens.verify(operator)).toBeUndefined()
    bench.clock += 500
    expect(tokens.verify(operator)).toBeUndefined()
    expect(bench.troubles).toHaveLength(1)
    expect(bench.troubles[0]).toContain('could be read by other users')
  })
})
