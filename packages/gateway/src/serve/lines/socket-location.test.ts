import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSocketLocation, requireOwnFolder } from './socket-location.ts'

function folder(name = ''): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-location-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const made = join(root, name)
  mkdirSync(made, { recursive: true })
  return made
}

const LONG = 'x'.repeat(150)
const elsewhere = (temporary: string) => ({ platform: 'darwin', tempFolder: temporary }) as const
const descriptors = (): number => readdirSync('/proc/self/fd').length

describe('the location of the socket', () => {
  it('is in the state folder under its own name, if the kernel accepts the path', () => {
    const state = folder()
    expect(openSocketLocation(state)).toMatchObject({ folder: state, path: join(state, 'gateway.sock') })
  })

  it('is in the state folder also if its path is too long for the kernel, and leaks no descriptor', async () => {
    const state = folder(LONG)
    const before = descriptors()
    const location = openSocketLocation(state, { platform: 'linux', tempFolder: '/nowhere' })
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(location.path, resolve))
    expect(readdirSync(state)).toEqual(['gateway.sock'])
    await new Promise((resolve) => server.close(resolve))
    expect(readdirSync(state)).toEqual([])
    location.close()
    location.close()
    expect(descriptors()).toBe(before)
  })

  it('is an error if the state folder does not exist', () => {
    const state = join(folder(), LONG)
    expect(() => openSocketLocation(state)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  })

  it('has an alias among the temporary files on other systems, a different one for each state', () => {
    const temporary = folder()
    const [one, other] = ['a', 'b'].map((end) => openSocketLocation(`/${LONG}${end}`, elsewhere(temporary)))
    expect(one?.path.startsWith(join(temporary, 'sallyport-'))).toBe(true)
    expect(one?.path).not.toBe(other?.path)
  })

  it('is refused if the alias would be truncated', () => {
    const refused = expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('--state') })
    expect(() => openSocketLocation(`/${LONG}`, elsewhere(`/${'y'.repeat(120)}`))).toThrow(refused)
  })

  it('is refused if another user could have created the folder of the alias', () => {
    const temporary = folder()
    const target = folder()
    chmodSync(target, 0o700)
    symlinkSync(target, join(temporary, `sallyport-${process.getuid?.()}`))
    const refused = expect.objectContaining({ code: 'STATE_UNUSABLE' })
    expect(() => openSocketLocation(`/${LONG}`, elsewhere(temporary))).toThrow(refused)
    expect(() => requireOwnFolder(join(temporary, 'not-there'))).not.toThrow()
  })
})
