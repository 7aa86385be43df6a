import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  fileModeOf,
  isRoot,
  mintFor,
  nextChange,
  readStandingToken,
  replaceBySymlink,
  TestTokens,
} from './local-tokens.test-kit.ts'

const testTokens = new TestTokens()

describe('a token file', () => {
  const damages: readonly [string, (text: string) => string][] = [
    ['is not JSON', () => '{'],
    ['is empty', () => ''],
    ['is truncated', (text) => text.slice(0, -10)],
    ['is a list', (text) => `[${text}]`],
    ['has another id', (text) => text.replace(/"id": "./, '"id": "z')],
    ['has no session', (text) => text.replace('"session"', '"sesion"')],
    ['has a key that a newer version may narrow it by', (text) => text.replace('{', '{"scope":"read",')],
    ['has a role', (text) => text.replace('{', '{"role":"operator",')],
    ['has a wrong expiry', (text) => text.replace('{', '{"expires":"never",')],
    ['has a null expiry', (text) => text.replace('{', '{"expires":null,')],
    ['has a list of agents', (text) => text.replace('"codex"', '["codex"]')],
    ['has half a digest', (text) => text.replace(/"sha256": ".{32}/, '"sha256": "')],
  ]

  it.each(damages)('that %s is refused with a warning that names it', async (_, damage) => {
    const before = await testTokens.open()
    const { token, record } = await mintFor(before)
    const path = testTokens.file(`${record.id}.json`)
    writeFileSync(path, damage(readFileSync(path, 'utf8')))
    expect((await testTokens.open()).verify(token)).toBeUndefined()
    expect(testTokens.warnings.join()).toContain(path)
  })

  it('that other users can read is closed and stays valid, since it has only a digest', async () => {
    const { token, record } = await mintFor(await testTokens.open())
    const path = testTokens.file(`${record.id}.json`)
    chmodSync(path, 0o644)
    expect((await testTokens.open()).verify(token)).toBeDefined()
    expect(fileModeOf(path)).toBe(0o600)
    expect(testTokens.warnings.join()).toContain(`${path} could be read by other users`)
  })

  it('that other users can write is refused and not changed, so that a person can check it', async () => {
    const { token, record } = await mintFor(await testTokens.open())
    const path = testTokens.file(`${record.id}.json`)
    chmodSync(path, 0o622)
    const tokens = await testTokens.open()
    expect(tokens.verify(token)).toBeUndefined()
    expect(fileModeOf(path)).toBe(0o622)
    expect(await tokens.revoke(record.id)).toBe(true)
  })

  it.runIf(isRoot)('of another user is refused', async () => {
    const { token, record } = await mintFor(await testTokens.open())
    chownSync(testTokens.file(`${record.id}.json`), 12345, 12345)
    expect((await testTokens.open()).verify(token)).toBeUndefined()
    expect(testTokens.warnings.join()).toContain('belongs to another user')
  })

  it('that is a link, a folder or a pipe is refused without blocking', async () => {
    const tokens = await testTokens.open()
    const { token, record } = await mintFor(tokens)
    replaceBySymlink(testTokens.file(`${record.id}.json`))
    mkdirSync(testTokens.file(`${'1'.repeat(16)}.json`))
    execFileSync('mkfifo', [testTokens.file(`${'2'.repeat(16)}.json`)])
    expect((await testTokens.open()).verify(token)).toBeUndefined()
    const warnings = testTokens.warnings.join('\n')
    for (const problem of ['is a symbolic link', 'is not a regular file']) expect(warnings).toContain(problem)
  })

  it('with another name is ignored', async () => {
    await testTokens.open()
    for (const name of ['.x.1-abc.sallyport-tmp', 'notes.txt', 'operator.bak', '0.json'])
      writeFileSync(testTokens.file(name), 'x')
    await testTokens.open()
    expect(testTokens.warnings).toEqual([])
  })
})

describe('another process', () => {
  it('that mints is noticed by the watch, or at the latest when an unknown token arrives', async () => {
    const [here, there] = [await testTokens.open(), await testTokens.open()]
    const noticed = nextChange(here)
    const first = await mintFor(there)
    await noticed
    expect(here.verify(first.token)).toBeDefined()
    const second = await mintFor(there)
    testTokens.clock += 500
    expect(here.verify(second.token)).toBeDefined()
  })

  it('that revokes is noticed by the watch', async () => {
    const [here, there] = [await testTokens.open(), await testTokens.open()]
    const { token, record } = await mintFor(there)
    testTokens.clock += 500
    expect(here.verify(token)).toBeDefined()
    const noticed = nextChange(here)
    await there.revoke(record.id)
    await noticed
    expect(here.verify(token)).toBeUndefined()
  })

  it('that removes the folder removes every token, and a new folder is watched again', async () => {
    const here = await testTokens.open()
    const agent = readStandingToken(testTokens.state, 'agent') as string
    const gone = nextChange(here)
    rmSync(testTokens.file(''), { recursive: true })
    await gone
    expect(here.verify(agent)).toBeUndefined()
    const back = nextChange(here)
    const there = await testTokens.open()
    await back
    const noticed = nextChange(here)
    const { token } = await mintFor(there)
    await noticed
    expect(here.verify(token)).toBeDefined()
  })

  it('cannot be made to read the folder for each wrong token', async () => {
    const tokens = await testTokens.open()
    chmodSync(testTokens.file('agent'), 0o644)
    // The scan that an unknown token causes would report the invalid file.
    for (let guess = 0; guess < 100; guess++) tokens.verify(`spa_${'A'.repeat(40)}${100 + guess}`)
    expect(testTokens.warnings).toEqual([])
    testTokens.clock += 500
    tokens.verify(`spa_${'A'.repeat(43)}`)
    expect(testTokens.warnings).toHaveLength(1)
  })

  it('that is killed while it mints leaves no invalid file, and the tokens that it reported exist', async () => {
    await testTokens.open()
    const script = `
      import { openLocalTokens } from ${JSON.stringify(new URL('../../dist/sessions/sessions.js', import.meta.url).href)}
      const tokens = await openLocalTokens({ state: process.argv[1] })
      for (;;) process.stdout.write((await tokens.mint({ agent: 'codex', profile: 'default' })).token + '\\n')`
    for (let round = 1; round <= 3; round++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, testTokens.state], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        output += text
        if (output.length > 500 * round) child.kill('SIGKILL')
      })
      await once(child, 'close')
      const tokens = await testTokens.open()
      const whole = output.split('\n').slice(0, -1)
      expect(whole.length).toBeGreaterThan(5)
      for (const token of whole) expect(tokens.verify(token)).toBeDefined()
    }
    expect(testTokens.warnings).toEqual([])
  })
})
