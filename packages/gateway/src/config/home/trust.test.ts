import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { catchError, createHome, temporaryFolder } from './home.test-kit.ts'
import type { Home } from './home.ts'
import { readHome } from './home-content.ts'
import { checkTrust, recordTrust, requireTrust, type Trust } from './trust.ts'

const CONFIG = { 'config.yaml': 'mcp_servers: {a: {command: x}}' }

const question = async (path: string, state: string, origin: Home['origin'] = 'project') => ({
  home: { path, origin },
  content: await readHome(path),
  state,
})

const judge = async (path: string, state: string): Promise<Trust> => checkTrust(await question(path, state))

const trust = async (path: string, state: string): Promise<void> => recordTrust(await question(path, state))

describe('trust in a home', () => {
  it('is needed only if the home was found in the working folder', async () => {
    const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
    for (const origin of ['flag', 'environment', 'user'] as const) {
      expect(await checkTrust(await question(home, state, origin))).toBe('trusted')
    }
    expect(await judge(home, state)).toBe('untrusted')
  })

  it('is refused with a hint about what to do', async () => {
    const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
    expect(await catchError(requireTrust(await question(home, state)))).toMatchObject({
      code: 'HOME_UNTRUSTED',
      hint: expect.stringContaining('sallyport trust'),
    })
    await trust(home, state)
    await requireTrust(await question(home, state))
  })

  it.each(['config.yaml', 'config.json', 'tools.yaml', 'profiles.json'])('ends when %s changes', async (name) => {
    const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
    await trust(home, state)
    expect(await judge(home, state)).toBe('trusted')
    await writeFile(join(home, name), 'x: 1')
    expect(await judge(home, state)).toBe('changed')
    expect((await catchError(requireTrust(await question(home, state)))).message).toContain('has changed')
  })

  it('ends when bytes move from one file to another', async () => {
    const [home, state] = [await createHome({ 'config.yaml': 'a', 'tools.yaml': 'b' }), await temporaryFolder()]
    await trust(home, state)
    await writeFile(join(home, 'config.yaml'), 'ab')
    await writeFile(join(home, 'tools.yaml'), '')
    expect(await judge(home, state)).toBe('changed')
  })

  it('covers the targets of links', async () => {
    const [home, elsewhere, state] = [await temporaryFolder(), await createHome(CONFIG), await temporaryFolder()]
    await symlink(join(elsewhere, 'config.yaml'), join(home, 'config.yaml'))
    await trust(home, state)
    await writeFile(join(elsewhere, 'config.yaml'), 'mcp_servers: {a: {command: evil}}')
    expect(await judge(home, state)).toBe('changed')
  })

  it('belongs to the folder, whichever path leads there', async () => {
    const [home, other, state] = [await createHome(CONFIG), await createHome(CONFIG), await temporaryFolder()]
    const link = join(await temporaryFolder(), 'link')
    await symlink(home, link)
    await trust(link, state)
    expect(await judge(home, state)).toBe('trusted')
    expect(await judge(other, state)).toBe('untrusted')
  })

  it('is stored for its owner only, and no temporary file is left', async () => {
    const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
    await trust(home, state)
    expect(await readdir(state)).toEqual(['trusted-homes.json'])
    expect((await stat(join(state, 'trusted-homes.json'))).mode & 0o777).toBe(0o600)
  })

  it.each(['', '{', '[]', '{"homes": 5}', '{"homes": [["/x"], 7, null, [1, 2]]}', '\0'])(
    'is not given by a damaged record (%j), which is replaced',
    async (record) => {
      const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
      await writeFile(join(state, 'trusted-homes.json'), record)
      expect(await judge(home, state)).toBe('untrusted')
      await trust(home, state)
      expect(await judge(home, state)).toBe('trusted')
    },
  )

  it('loses nothing if many processes record it at once', async () => {
    const state = await temporaryFolder()
    const homes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => createHome({ 'config.yaml': `# ${index}` })),
    )
    await Promise.all(homes.map((home) => trust(home, state)))
    expect(await Promise.all(homes.map((home) => judge(home, state)))).toEqual(homes.map(() => 'trusted'))
    expect(await readdir(state)).toEqual(['trusted-homes.json'])
  })

  it('is not blocked for ever by a writer that was killed', async () => {
    const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
    const lock = join(state, 'trusted-homes.json.lock')
    await writeFile(lock, '')
    const longAgo = new Date(Date.now() - 60_000)
    await utimes(lock, longAgo, longAgo)
    await trust(home, state)
    expect(await judge(home, state)).toBe('trusted')
  })

  it('preserves the old record if the new one cannot be written', async () => {
    const [home, state] = [await createHome(CONFIG), await temporaryFolder()]
    await trust(home, state)
    const before = await readFile(join(state, 'trusted-homes.json'), 'utf8')
    expect(before).toContain(home)
    const gone = join(state, 'gone')
    await mkdir(gone)
    await rm(gone, { recursive: true })
    expect(await catchError(trust(home, gone))).toMatchObject({ code: 'STATE_UNUSABLE' })
    expect(await readFile(join(state, 'trusted-homes.json'), 'utf8')).toBe(before)
  })
})
