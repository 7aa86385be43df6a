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

const testTokens = new TestTokens()

describe('the standing tokens', () => {
  it('are created at the first start, closed to other users, and preserved', async () => {
    const tokens = await testTokens.open()
    const operator = readFileSync(testTokens.file('operator'), 'utf8').trim()
    const agent = readFileSync(testTokens.file('agent'), 'utf8').trim()
    expect(operator).toMatch(/^spo_[\w-]{43}$/)
    expect(agent).toMatch(/^spa_[\w-]{43}$/)
    expect([
      fileModeOf(testTokens.file('')),
      fileModeOf(testTokens.file('operator')),
      fileModeOf(testTokens.file('agent')),
    ]).toEqual([0o700, 0o600, 0o600])
    const user = userInfo().username
    const common = { user, agent: 'any', profile: 'default' }
    expect(tokens.verify(operator)?.principal).toEqual({ ...common, session: 'operator', role: 'operator' })
    expect(tokens.verify(agent)?.principal).toEqual({ ...common, session: 'local', role: 'agent' })
    expect((await testTokens.open()).verify(operator)).toBeDefined()
    expect(readStandingToken(testTokens.state, 'operator')).toBe(operator)
    expect(testTokens.warnings).toEqual([])
  })

  it.each([
    ['could be read by others', () => chmodSync(testTokens.file('operator'), 0o644), 'could be read by other users'],
    [
      'could be written by others',
      () => chmodSync(testTokens.file('operator'), 0o620),
      'can be written by other users',
    ],
    ['is empty', () => writeFileSync(testTokens.file('operator'), ''), 'does not hold a token'],
    ['is truncated', () => writeFileSync(testTokens.file('operator'), 'spo_abc\n'), 'does not hold a token'],
    [
      'holds an agent token',
      () => writeFileSync(testTokens.file('operator'), readFileSync(testTokens.file('agent'))),
      'does not hold a token',
    ],
    [
      'is huge',
      () => writeFileSync(testTokens.file('operator'), 'x'.repeat(1_000_000)),
      'more than any token or key needs',
    ],
    ['is a link', () => replaceBySymlink(testTokens.file('operator')), 'symbolic link'],
  ])('are replaced at the start when the file %s', async (_, harm, warning) => {
    const before = await testTokens.open()
    const old = readStandingToken(testTokens.state, 'operator') as string
    before.close()
    harm()
    expect(readStandingToken(testTokens.state, 'operator')).toBeUndefined()
    const tokens = await testTokens.open()
    const fresh = readStandingToken(testTokens.state, 'operator') as string
    expect(fresh).not.toBe(old)
    expect(tokens.verify(old)).toBeUndefined()
    expect(tokens.verify(fresh)?.principal.role).toBe('operator')
    expect(fileModeOf(testTokens.file('operator'))).toBe(0o600)
    expect(testTokens.warnings).toHaveLength(1)
    expect(testTokens.warnings[0]).toContain(testTokens.file('operator'))
    expect(testTokens.warnings[0]).toContain(warning)
    expect(testTokens.warnings[0]).not.toContain(old)
  })

  it.runIf(isRoot)('are replaced when the file belongs to another user', async () => {
    const before = await testTokens.open()
    const old = readStandingToken(testTokens.state, 'operator') as string
    before.close()
    chownSync(testTokens.file('operator'), 12345, 12345)
    expect((await testTokens.open()).verify(old)).toBeUndefined()
    expect(statSync(testTokens.file('operator')).uid).toBe(0)
    expect(testTokens.warnings[0]).toContain('belongs to another user (uid 12345)')
  })

  it('are not valid while other users can read them', async () => {
    const tokens = await testTokens.open()
    const operator = readStandingToken(testTokens.state, 'operator') as string
    const changed = nextChange(tokens)
    chmodSync(testTokens.file('operator'), 0o604)
    await changed
    expect(tokens.verify(operator)).toBeUndefined()
    testTokens.clock += 500
    expect(tokens.verify(operator)).toBeUndefined()
    expect(testTokens.warnings).toHaveLength(1)
    expect(testTokens.warnings[0]).toContain('could be read by other users')
  })
})
