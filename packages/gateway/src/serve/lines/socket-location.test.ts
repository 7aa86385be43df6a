import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSocketLocation, requireOwnFolder } from './socket-location.ts'

function folder(name = ''): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-place-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const made = join(root, name)
  mkdirSync(made, { recursive: true })
  return made
}

const LONG = 'x'.repeat(150)
const elsewhere = (temporary: string) => ({ platform: 'darwin', tempFolder: temporary }) as const
const descriptors = (): number => readdirSync('/proc/self/fd').length

describe('the place of the socket', () => {
  it('is in the state folder by its own name, where the kernel takes that', () => {
    const state = folder()
    expect(openSocketLocation(state)).toMatchObject({ folder: state, path: join(state, 'gateway.sock') })
  })

  it('is in the state folder also where its path is too long for the kernel, and holds no descriptor for ever', async () => {
    const state = folder(LONG)
    const before = descriptors()
    const place = openSocketLocation(state, { platform: 'linux', tempFolder: '/nowhere' })
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(place.path, resolve))
    expect(readdirSync(state)).toEqual(['gateway.sock'])
    await new Promise((resolve) => server.close(resolve))
    expect(readdirSync(state)).toEqual([])
    place.close()
    place.close()
    expect(descriptors()).toBe(before)
  })

  it('is nowhere when there is no such state', () => {
    const state = join(folder(), LONG)
    expect(() => openSocketLocation(state)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })

  it('has an alias among the temporary files on other systems, another for each state', () => {
    const temporary = folder()
    const [one, other] = ['a', 'b'].map((end) => openSocketLocation(`/${LONG}${end}`, elsewhere(temporary)))
    expect(one?.path.startsWith(join(temporary, 'sallyport-'))).toBe(true)
    expect(one?.path).not.toBe(other?.path)
  })

  it('is refused where the alias would be cut', () => {
    const refused = expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('--state') })
    expect(() => openSocketLocation(`/${LONG}`, elsewhere(`/${'y'.repeat(120)}`))).toThrow(refused)
  })

  it('is refused where somebody else could have made the folder of the alias', () => {
    const temporary = folder()
    const target = folder()
    chmodSync(target, 0o700)
    symlinkSync(target, join(temporary, `sallyport-${process.getuid?.()}`))
    const refused = expect.objectContaining({ code: 'STATE_UNUSABLE' })
    expect(() => openSocketLocation(`/${LONG}`, elsewhere(temporary))).toThrow(refused)
    expect(() => requireOwnFolder(join(temporary, 'not-there'))).not.toThrow()
  })
})
