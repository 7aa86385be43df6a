import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { describe, expect, it } from 'vitest'
import { fileModeOf, isRoot, mintFor, readStandingToken, TestTokens } from './local-tokens.test-kit.ts'

const testTokens = new TestTokens()

describe('a minted token', () => {
  it('has its principal, and its file has only the digest', async () => {
    const tokens = await testTokens.open()
    const { token, record } = await tokens.mint({ agent: 'codex', profile: 'reviewer', user: 'ada', session: 's1' })
    expect(token).toMatch(/^spa_[\w-]{43}$/)
    expect(tokens.verify(token)).toEqual({
      principal: { user: 'ada', agent: 'codex', profile: 'reviewer', session: 's1', role: 'agent', token: record.id },
      expiresAt: Number.POSITIVE_INFINITY,
    })
    const text = readFileSync(testTokens.file(`${record.id}.json`), 'utf8')
    expect(Object.keys(JSON.parse(text))).toEqual(['id', 'agent', 'profile', 'user', 'session', 'created', 'sha256'])
    expect(text).not.toContain(token.slice(4))
    expect(fileModeOf(testTokens.file(`${record.id}.json`))).toBe(0o600)
  })

  it('belongs to the OS user in a new session by default', async () => {
    const tokens = await testTokens.open()
    const [one, other] = [await mintFor(tokens), await mintFor(tokens)]
    expect(one.record.user).toBe(userInfo().username)
    expect(one.record.session).toBe(`token:${one.record.id}`)
    expect(one.record.session).not.toBe(other.record.session)
  })

  it('is also valid by its id, until it is revoked or has expired', async () => {
    const tokens = await testTokens.open()
    const { record: long } = await mintFor(tokens)
    const { record: short } = await tokens.mint({ agent: 'codex', profile: 'default', ttlMs: 1_000 })
    expect([long.id, short.id, '0'.repeat(16)].map((id) => tokens.isValid(id))).toEqual([true, true, false])
    testTokens.clock += 1_000
    await tokens.revoke(long.id)
    expect([long.id, short.id].map((id) => tokens.isValid(id))).toEqual([false, false])
  })

  it('expires, and its file is removed when the next one is minted', async () => {
    const tokens = await testTokens.open()
    const { token, record } = await tokens.mint({ agent: 'codex', profile: 'default', ttlMs: 1_000 })
    testTokens.clock += 999
    expect(tokens.verify(token)?.expiresAt).toBe(testTokens.clock + 1)
    expect(tokens.list()).toHaveLength(1)
    testTokens.clock += 1
    expect(tokens.verify(token)).toBeUndefined()
    expect(tokens.list()).toEqual([])
    await mintFor(tokens)
    expect(existsSync(testTokens.file(`${record.id}.json`))).toBe(false)
  })

  it('is invalid for good when it is revoked', async () => {
    const tokens = await testTokens.open()
    const [one, other] = [await mintFor(tokens), await mintFor(tokens)]
    expect(await tokens.revoke(one.record.id)).toBe(true)
    expect(await tokens.revoke(one.record.id)).toBe(false)
    expect(tokens.verify(one.token)).toBeUndefined()
    expect(tokens.verify(other.token)).toBeDefined()
    expect((await testTokens.open()).verify(one.token)).toBeUndefined()
  })

  it('is listed without its digest, oldest first', async () => {
    const tokens = await testTokens.open()
    const first = await mintFor(tokens, 'a')
    testTokens.clock += 1
    const second = await mintFor(tokens, 'b')
    expect(tokens.list()).toEqual([first.record, second.record])
  })

  it.each(['../operator', 'operator', '', '*', '../../x', `${'0'.repeat(16)}.json`, '0'.repeat(16)])(
    'cannot be revoked as %j',
    async (id) => {
      const tokens = await testTokens.open()
      expect(await tokens.revoke(id)).toBe(false)
      expect(readStandingToken(testTokens.state, 'operator')).toBeDefined()
    },
  )

  it('is revoked only by its id, never by a path', async () => {
    const tokens = await testTokens.open()
    const bystander = testTokens.file('../bystander.json')
    writeFileSync(bystander, '{}')
    expect(await tokens.revoke('../bystander')).toBe(false)
    expect(existsSync(bystander)).toBe(true)
  })

  it('that could not be written is not returned', async () => {
    const tokens = await testTokens.open()
    rmSync(testTokens.file(''), { recursive: true })
    await expect(mintFor(tokens)).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    expect(tokens.list()).toEqual([])
  })

  it.each([
    { agent: '' },
    { agent: 'a\nb' },
    { profile: 'x'.repeat(300) },
    { user: '\u202e' },
    { session: ' ' },
    { ttlMs: 0 },
    { ttlMs: -1 },
    { ttlMs: Number.NaN },
    { ttlMs: Number.POSITIVE_INFINITY },
    { ttlMs: 1e300 },
  ])('is not minted for %j', async (wrong) => {
    const tokens = await testTokens.open()
    const minting = tokens.mint({ agent: 'codex', profile: 'default', ...wrong })
    await expect(minting).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    expect(readdirSync(testTokens.file('')).sort()).toEqual(['agent', 'operator'])
  })

  it.each(['', 'spa_', `spa_${'A'.repeat(43)}`, `spa_${'A'.repeat(42)}`, `spa_${'A'.repeat(1_000_000)}`, '__proto__'])(
    'cannot be guessed (%#)',
    async (text) => {
      expect((await testTokens.open()).verify(text)).toBeUndefined()
    },
  )

  it('is not the digest of one, nor the same characters under the operator’s prefix', async () => {
    const tokens = await testTokens.open()
    const { token, record } = await mintFor(tokens)
    const { sha256 } = JSON.parse(readFileSync(testTokens.file(`${record.id}.json`), 'utf8'))
    for (const text of [sha256, `spa_${sha256}`, `spo_${token.slice(4)}`, `${token}\n`, token.toUpperCase()])
      expect(tokens.verify(text)).toBeUndefined()
  })
})

describe('the folder', () => {
  it('that is open to other users is closed with a warning', async () => {
    mkdirSync(testTokens.file(''), { recursive: true })
    chmodSync(testTokens.file(''), 0o755)
    await testTokens.open()
    expect(fileModeOf(testTokens.file(''))).toBe(0o700)
    expect(testTokens.warnings[0]).toContain('was open to other users')
  })

  it.runIf(isRoot)('of another user is not used', async () => {
    mkdirSync(testTokens.file(''), { recursive: true })
    chownSync(testTokens.file(''), 12345, 12345)
    await expect(testTokens.open()).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
  })

  it('that cannot be created is reported as unusable', async () => {
    writeFileSync(testTokens.file(''), 'a file')
    await expect(testTokens.open()).rejects.toMatchObject({ code: 'STATE_UNUSABLE', hint: expect.any(String) })
  })
})
