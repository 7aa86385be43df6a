import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { masterKeyPath } from './master-key.ts'
import { SessionKeys } from './session-keys.ts'

const ADA = `ada-${'0'.repeat(64)}`
const EVE = `eve-${'1'.repeat(64)}`

let root: string
let folder: string
let dataFolder: string
let problems: string[]

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-session-keys-'))
  folder = join(root, 'keys')
  dataFolder = join(root, 'data')
  problems = []
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const open = (environment: Record<string, string> = {}, data = dataFolder): SessionKeys =>
  new SessionKeys({
    ...{ folder, notInside: [data], dataFolder: data, environment },
    onProblem: (text) => problems.push(text),
  })

function replaceByLink(path: string): void {
  renameSync(path, `${path}.moved`)
  symlinkSync(`${path}.moved`, path)
}

const keyFiles = (): readonly string[] =>
  readdirSync(join(folder, 'sessions'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.'))
    .map((name) => join(folder, 'sessions', name))

describe(`${promise('SEN-23')} the key of a session`, () => {
  it('is created with the first result, outside of the data, in files that only their owner can read', async () => {
    const keys = open()
    expect([keys.of(ADA).find(), existsSync(folder)]).toEqual([undefined, false])
    const key = await keys.of(ADA).obtain()
    expect(key).toHaveLength(32)
    const [file = ''] = keyFiles()
    for (const path of [masterKeyPath(folder), file]) expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(readdirSync(dataFolder)).toEqual(['keys-id'])
    const stored = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64url')
    expect(stored.includes(key)).toBe(false)
  })

  it('is the same after a restart and for other processes that create it at once, and another for each session', async () => {
    const created = await Promise.all(Array.from({ length: 8 }, () => open().of(ADA).obtain()))
    expect(new Set(created.map((key) => key.toString('hex'))).size).toBe(1)
    expect(open().of(ADA).find()).toEqual(created[0])
    expect(await open().of(EVE).obtain()).not.toEqual(created[0])
    expect(await open({}, join(root, 'other')).of(ADA).obtain()).not.toEqual(created[0])
  })

  it('belongs to its data folder, also if that is moved, and to nobody else', async () => {
    const key = await open().of(ADA).obtain()
    await open().of(EVE).obtain()
    const moved = join(root, 'moved')
    renameSync(dataFolder, moved)
    expect(open({}, moved).of(ADA).find()).toEqual(key)
    const [ofAda = '', ofEve = ''] = keyFiles().toSorted()
    cpSync(ofAda, ofEve)
    expect(open({}, moved).of(EVE).find()).toBeUndefined()
  })

  it('is gone for all processes once one has destroyed it', async () => {
    const [one, other] = [open(), open()]
    const key = await one.of(ADA).obtain()
    expect(other.of(ADA).find()).toEqual(key)
    expect([await one.destroy(ADA), await one.destroy(ADA)]).toEqual([true, false])
    expect([one.of(ADA).find(), other.of(ADA).find(), keyFiles()]).toEqual([undefined, undefined, []])
    expect(await other.of(ADA).obtain()).not.toEqual(key)
  })

  it('is listed with the time of its creation', async () => {
    const before = Date.now()
    await open().of(ADA).obtain()
    expect([...open().list().keys()]).toEqual([ADA])
    expect(open().list().get(ADA)).toBeGreaterThan(before - 60_000)
  })
})

describe('the master key', () => {
  const KEY = randomBytes(32)

  it.each(['base64', 'base64url', 'hex'] as const)(
    'is taken from the environment as %s, and then not stored',
    async (encoding) => {
      const key = await open({ SALLYPORT_MASTER_KEY: KEY.toString(encoding) })
        .of(ADA)
        .obtain()
      expect(existsSync(masterKeyPath(folder))).toBe(false)
      expect(
        open({ SALLYPORT_MASTER_KEY: KEY.toString('hex') })
          .of(ADA)
          .find(),
      ).toEqual(key)
    },
  )

  it.each(['', 'short', KEY.toString('hex').slice(1), `${KEY.toString('base64')}AA`])(
    'is refused if the variable is %j, without showing it',
    (value) => {
      expect(() => open({ SALLYPORT_MASTER_KEY: value })).toThrow(
        /^The variable SALLYPORT_MASTER_KEY is not a key: expected 32 bytes/,
      )
    },
  )

  it('if it is lost or another, finds no key, creates new ones, and leaves those of the first one alone', async () => {
    const key = await open().of(ADA).obtain()
    const other = { SALLYPORT_MASTER_KEY: KEY.toString('hex') }
    expect(open(other).of(ADA).find()).toBeUndefined()
    expect(await open(other).of(ADA).obtain()).not.toEqual(key)
    expect(open().of(ADA).find()).toEqual(key)
    rmSync(masterKeyPath(folder))
    expect(open().of(ADA).find()).toBeUndefined()
    expect(await open().of(ADA).obtain()).not.toEqual(key)
    expect(await open().destroy(ADA)).toBe(true)
    expect(keyFiles()).toEqual([])
  })

  it('is replaced for a session whose own key is damaged', async () => {
    await open().of(ADA).obtain()
    writeFileSync(keyFiles()[0] ?? '', 'damaged', { mode: 0o600 })
    expect(open().of(ADA).find()).toBeUndefined()
    expect(await open().of(ADA).obtain()).toHaveLength(32)
  })

  it.each([
    ['a file that others can read', () => chmodSync(masterKeyPath(folder), 0o640), /other users can read it/],
    ['a file that others can write', () => chmodSync(masterKeyPath(folder), 0o620), /written by other users/],
    ['a folder that others can enter', () => chmodSync(folder, 0o750), /open to other users/],
    ['a file with something else', () => writeFileSync(masterKeyPath(folder), 'x'), /does not contain a master key/],
    ['a link', () => replaceByLink(masterKeyPath(folder)), /symbolic link/],
  ])('is not used from %s: the operator reads why', async (_, spoil, problem) => {
    await open().of(ADA).obtain()
    spoil()
    const keys = open()
    await expect(keys.of(ADA).obtain()).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })
    expect(() => keys.of(ADA).find()).toThrow()
    expect(problems).toEqual([expect.stringMatching(problem)])
  })

  it('is never stored inside of the data', async () => {
    mkdirSync(dataFolder)
    folder = join(dataFolder, 'keys')
    await expect(open().of(ADA).obtain()).rejects.toThrow(/is inside/)
    expect(readdirSync(dataFolder)).toEqual([])
  })
})
