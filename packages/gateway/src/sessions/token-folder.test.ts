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

const bench = new TestTokens()

describe('a token file', () => {
  const spoilt: readonly [string, (text: string) => string][] = [
    ['is no JSON', () => '{'],
    ['is empty', () => ''],
    ['is cut', (text) => text.slice(0, -10)],
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

  it.each(spoilt)('that %s is refused by name', async (_, spoil) => {
    const before = await bench.open()
    const { token, record } = await mintFor(before)
    const path = bench.file(`${record.id}.json`)
    writeFileSync(path, spoil(readFileSync(path, 'utf8')))
    expect((await bench.open()).verify(token)).toBeUndefined()
    expect(bench.troubles.join()).toContain(path)
  })

  it('that others can read is closed and goes on counting, since it holds only a digest', async () => {
    const { token, record } = await mintFor(await bench.open())
    const path = bench.file(`${record.id}.json`)
    chmodSync(path, 0o644)
    expect((await bench.open()).verify(token)).toBeDefined()
    expect(fileModeOf(path)).toBe(0o600)
    expect(bench.troubles.join()).toContain(`${path} could be read by other users`)
  })

  it('that others can write is refused and left for a person to look at', async () => {
    const { token, record } = await mintFor(await bench.open())
    const path = bench.file(`${record.id}.json`)
    chmodSync(path, 0o622)
    const tokens = await bench.open()
    expect(tokens.verify(token)).toBeUndefined()
    expect(fileModeOf(path)).toBe(0o622)
    expect(await tokens.revoke(record.id)).toBe(true)
  })

  it.runIf(isRoot)('of another user is refused', async () => {
    const { token, record } = await mintFor(await bench.open())
    chownSync(bench.file(`${record.id}.json`), 12345, 12345)
    expect((await bench.open()).verify(token)).toBeUndefined()
    expect(bench.troubles.join()).toContain('belongs to another user')
  })

  it('that is a link, a folder or a pipe is refused and holds nobody up', async () => {
    const tokens = await bench.open()
    const { token, record } = await mintFor(tokens)
    replaceBySymlink(bench.file(`${record.id}.json`))
    mkdirSync(bench.file(`${'1'.repeat(16)}.json`))
    execFileSync('mkfifo', [bench.file(`${'2'.repeat(16)}.json`)])
    expect((await bench.open()).verify(token)).toBeUndefined()
    const words = bench.troubles.join('\n')
    for (const problem of ['is a symbolic link', 'is not a regular file']) expect(words).toContain(problem)
  })

  it('that is foreign to us is not looked at', async () => {
    await bench.open()
    for (const name of ['.x.1-abc.sallyport-tmp', 'notes.txt', 'operator.bak', '0.json'])
      writeFileSync(bench.file(name), 'x')
    await bench.open()
    expect(bench.troubles).toEqual([])
  })
})

describe('another process', () => {
  it('that mints is noticed by the watch, and by a stranger’s token at the latest', async () => {
    const [here, there] = [await bench.open(), await bench.open()]
    const noticed = nextChange(here)
    const first = await mintFor(there)
    await noticed
    expect(here.verify(first.token)).toBeDefined()
    const second = await mintFor(there)
    bench.clock += 500
    expect(here.verify(second.token)).toBeDefined()
  })

  it('that revokes is noticed by the watch', async () => {
    const [here, there] = [await bench.open(), await bench.open()]
    const { token, record } = await mintFor(there)
    bench.clock += 500
    expect(here.verify(token)).toBeDefined()
    const noticed = nextChange(here)
    await there.revoke(record.id)
    await noticed
    expect(here.verify(token)).toBeUndefined()
  })

  it('that removes the folder takes every token with it, and one made anew is watched again', async () => {
    const here = await bench.open()
    const agent = readStandingToken(bench.state, 'agent') as string
    const gone = nextChange(here)
    rmSync(bench.file(''), { recursive: true })
    await gone
    expect(here.verify(agent)).toBeUndefined()
    const back = nextChange(here)
    const there = await bench.open()
    await back
    const noticed = nextChange(here)
    const { token } = await mintFor(there)
    await noticed
    expect(here.verify(token)).toBeDefined()
  })

  it('cannot be made to read the folder for each wrong token', async () => {
    const tokens = await bench.open()
    chmodSync(bench.file('agent'), 0o644)
    // The broken file would be reported by the reading that a miss causes.
    for (let guess = 0; guess < 100; guess++) tokens.verify(`spa_${'A'.repeat(40)}${100 + guess}`)
    expect(bench.troubles).toEqual([])
    bench.clock += 500
    tokens.verify(`spa_${'A'.repeat(43)}`)
    expect(bench.troubles).toHaveLength(1)
  })

  it('that is killed while it mints leaves nothing broken, and what it told of is there', async () => {
    await bench.open()
    const script = `
      import { openLocalTokens } from ${JSON.stringify(new URL('../../dist/sessions/sessions.js', import.meta.url).href)}
      const tokens = await openLocalTokens({ state: process.argv[1] })
      for (;;) process.stdout.write((await tokens.mint({ agent: 'codex', profile: 'default' })).token + '\\n')`
    for (let round = 1; round <= 3; round++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, bench.state], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let told = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        told += text
        if (told.length > 500 * round) child.kill('SIGKILL')
      })
      await once(child, 'close')
      const tokens = await bench.open()
      const whole = told.split('\n').slice(0, -1)
      expect(whole.length).toBeGreaterThan(5)
      for (const token of whole) expect(tokens.verify(token)).toBeDefined()
    }
    expect(bench.troubles).toEqual([])
  })
})
