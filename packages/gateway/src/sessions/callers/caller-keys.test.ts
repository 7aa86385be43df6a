import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { callerKeyPath, countCallerKeys } from './caller-key-file.ts'
import { OVERLAP_MS, SIGNING_PERIOD_MS } from './caller-key-set.ts'
import { CallerKeys } from './caller-keys.ts'

const START = Date.parse('2030-01-01')
const SECOND = 1_000
const DAY = 86_400_000

let root: string
let folder: string
let time: number
let warnings: string[]

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-keys-'))
  folder = join(root, 'keys')
  time = START
  warnings = []
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const open = (notInside: readonly string[] = []): CallerKeys =>
  new CallerKeys({ folder, notInside, now: () => time, onWarning: (text) => warnings.push(text) })

const kidsIn = (jwks: string): string[] => JSON.parse(jwks).keys.map(({ kid }: { kid: string }) => kid)
const signer = (keys: CallerKeys, keyId?: string): unknown => decodeProtectedHeader(keys.sign({}, keyId)).kid
const publishedKids = async (keys: CallerKeys): Promise<string[]> => kidsIn((await keys.publish()).jwks)

describe(`${promise('SEN-19')} the keys of caller tokens`, () => {
  it('are created with the first use, in a folder and a file that only their owner can read', async () => {
    const keys = open()
    expect(existsSync(folder)).toBe(false)
    await keys.publish()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(callerKeyPath(folder)).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['caller-keys.json'])
  })

  it('are published without their private parts, and another library verifies what they sign', async () => {
    const keys = open()
    const { jwks, newest } = await keys.publish()
    expect(Object.keys(JSON.parse(jwks).keys[0]).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
    const { payload, protectedHeader } = await compactVerify(
      keys.sign({ some: 'claims' }, undefined),
      createLocalJWKSet(JSON.parse(jwks)),
    )
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual({ some: 'claims' })
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'sallyport-caller+jwt', kid: newest })
  })

  it('stay the same after a restart, and for another gateway', async () => {
    const first = await open().publish()
    expect(await open().publish()).toEqual(first)
  })

  it('are one set if many gateways create them at once', async () => {
    const sets = await Promise.all(Array.from({ length: 8 }, () => open().publish()))
    expect(new Set(sets.map(({ jwks }) => jwks)).size).toBe(1)
    expect(kidsIn(sets[0]?.jwks ?? '')).toHaveLength(1)
  })

  it('are renewed with an overlap: the next key is published before it signs, and the old one after it signed', async () => {
    const keys = open()
    const [first] = await publishedKids(keys)
    time = START + SIGNING_PERIOD_MS - OVERLAP_MS - SECOND
    expect(await publishedKids(keys)).toEqual([first])
    time += 2 * SECOND
    const both = await publishedKids(keys)
    expect(both).toHaveLength(2)
    expect(both[0]).toBe(first)
    const [, second] = both
    // A program that starts now knows both, so that it is sent the newer one; other servers may not know it yet.
    expect((await keys.publish()).newest).toBe(second)
    expect([signer(keys, second), signer(keys)]).toEqual([second, first])
    time = START + SIGNING_PERIOD_MS - SECOND
    expect(signer(keys)).toBe(first)
    time += 2 * SECOND
    expect(signer(keys)).toBe(second)
    expect(await publishedKids(keys)).toEqual(both)
    time = START + SIGNING_PERIOD_MS + OVERLAP_MS + SECOND
    expect(await publishedKids(keys)).toEqual([second])
    // A program that has run since then knows only the first one.
    expect(signer(keys, first)).toBe(first)
  })

  it('overlap also after a long pause: the old key signs until the new one was published for a while', async () => {
    const [first] = await publishedKids(open())
    time = START + 400 * DAY
    const keys = open()
    const [again, second] = await publishedKids(keys)
    expect([again, signer(keys)]).toEqual([first, first])
    time += OVERLAP_MS
    expect(signer(keys)).toBe(second)
  })

  it('are read again after a minute of use, because another gateway may have renewed them', async () => {
    const keys = open()
    const [first] = await publishedKids(keys)
    time = START + SIGNING_PERIOD_MS - OVERLAP_MS
    const [, second] = await publishedKids(open())
    time += OVERLAP_MS
    expect(signer(keys)).toBe(first)
    await keys.publish()
    expect(signer(keys)).toBe(second)
  })

  it.each([
    ['a file that others can read', (path: string) => chmodSync(path, 0o640), /other users can read it/, /chmod 600/],
    ['a file that others can write', (path: string) => chmodSync(path, 0o620), /written by other users/, /chmod 600/],
    ['a folder that others can enter', () => chmodSync(folder, 0o750), /open to other users \(mode 750\)/, /chmod 700/],
    [
      'a file with something else',
      (path: string) => writeFileSync(path, '{}'),
      /does not contain keys/,
      /Move it away/,
    ],
    [
      'half a file',
      (path: string) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 90)),
      /not contain/,
      /Move/,
    ],
  ])('are not read from %s: the error says what to do', async (_, spoil, problem, fix) => {
    await open().publish()
    spoil(callerKeyPath(folder))
    const refused = open().publish()
    await expect(refused).rejects.toMatchObject({ code: 'KEYS_UNUSABLE', message: expect.stringMatching(problem) })
    await expect(refused).rejects.toMatchObject({ hint: expect.stringMatching(fix) })
  })

  it('are not read from a link, nor kept in the state folder or the home', async () => {
    mkdirSync(folder, { mode: 0o700 })
    symlinkSync(join(root, 'elsewhere'), callerKeyPath(folder))
    await expect(open().publish()).rejects.toThrow(/is a symbolic link/)
    await expect(open([root]).publish()).rejects.toThrow(/is inside/)
    await expect(open([`${root}/key`]).publish()).rejects.toThrow(/symbolic link/)
  })

  it('do not work with a key whose public part is another', async () => {
    await open().publish()
    const path = callerKeyPath(folder)
    const other = join(root, 'other')
    await new CallerKeys({ folder: other, notInside: [], now: () => time, onWarning: () => {} }).publish()
    const [set, foreign] = [path, callerKeyPath(other)].map((file) => JSON.parse(readFileSync(file, 'utf8')))
    set.keys[0].jwk.d = foreign.keys[0].jwk.d
    writeFileSync(path, JSON.stringify(set))
    await expect(open().publish()).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })
  })
})

describe('counting the keys', () => {
  it('creates none, and refuses what the gateway would refuse', async () => {
    const count = (): number => countCallerKeys({ folder, notInside: [] })
    expect([count(), existsSync(folder)]).toEqual([0, false])
    await open().publish()
    expect(count()).toBe(1)
    chmodSync(callerKeyPath(folder), 0o644)
    expect(count).toThrow(/other users can read it/)
  })
})

describe('a gateway that is killed while it creates keys', () => {
  it('leaves at most a lock and a part of a file, which the next one removes', async () => {
    const dead = spawn(process.execPath, ['-e', ''])
    await once(dead, 'exit')
    mkdirSync(folder, { mode: 0o700 })
    const lock = join(folder, '.caller-keys.json.lock')
    writeFileSync(lock, 'of a dead process')
    utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000))
    writeFileSync(join(folder, `.caller-keys.json.${dead.pid}-0123456789ab.sallyport-tmp`), '{"version":1,"ke')
    await open().publish()
    expect(readdirSync(folder)).toEqual(['caller-keys.json'])
  })

  it('leaves a usable set, whenever that is', async () => {
    const module = new URL('./caller-keys.ts', import.meta.url).pathname.replace('/src/', '/dist/').replace(/ts$/, 'js')
    const program = `
      const { CallerKeys } = await import(${JSON.stringify(module)})
      const keys = new CallerKeys({ folder: process.argv[1], notInside: [], now: Date.now, onWarning: () => {} })
      process.stdout.write('begins')
      await keys.publish()
      process.stdout.write('done')
      setInterval(() => {}, 1_000)`
    for (let round = 0; round < 4; round++) {
      const own = join(root, `keys-${round}`)
      const child = spawn(process.execPath, ['--input-type=module', '-e', program, own], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      // A little later in each round, until the last one, which is whole.
      for (let turn = 0; turn < round * 6; turn++) await new Promise(setImmediate)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const keys = new CallerKeys({ folder: own, notInside: [], now: () => Date.now(), onWarning: () => {} })
      const { jwks, newest } = await keys.publish()
      expect(kidsIn(jwks)).toEqual([newest])
      expect(signer(keys)).toBe(newest)
      expect(readdirSync(own).filter((name) => name.endsWith('.lock'))).toEqual([])
    }
  })
})
