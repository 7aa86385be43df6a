import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { catchError, temporaryFolder } from './home.test-kit.ts'
import { locateHome, locateState, requireHome } from './home.ts'

const FULL = {
  SALLYPORT_HOME: '/from/variable',
  SALLYPORT_STATE: '/state/variable',
  XDG_CONFIG_HOME: '/xdg',
  XDG_STATE_HOME: '/xdg-state',
  HOME: '/home/ann',
}

describe('the home', () => {
  it('is the one of the flag, before all others', async () => {
    const cwd = await temporaryFolder()
    await mkdir(join(cwd, '.sallyport'))
    expect(locateHome({ flag: 'here', environment: FULL, cwd })).toEqual({ path: join(cwd, 'here'), origin: 'flag' })
    expect(locateHome({ flag: undefined, environment: FULL, cwd })).toEqual({
      path: '/from/variable',
      origin: 'environment',
    })
    const { SALLYPORT_HOME: _, ...rest } = FULL
    expect(locateHome({ flag: undefined, environment: rest, cwd })).toEqual({
      path: join(cwd, '.sallyport'),
      origin: 'project',
    })
  })

  it('is the user’s own if the working folder has none', async () => {
    const cwd = await temporaryFolder()
    const find = (environment: Record<string, string>) => locateHome({ flag: undefined, environment, cwd })
    expect(find({ XDG_CONFIG_HOME: '/xdg', HOME: '/home/ann' })).toEqual({ path: '/xdg/sallyport', origin: 'user' })
    expect(find({ XDG_CONFIG_HOME: 'relative', HOME: '/home/ann' }).path).toBe('/home/ann/.config/sallyport')
    expect(find({ XDG_CONFIG_HOME: '', HOME: '' }).path).toBe(join(homedir(), '.config/sallyport'))
  })

  it('is not ignored if it is a file or a dangling link', async () => {
    const cwd = await temporaryFolder()
    await symlink('/nowhere', join(cwd, '.sallyport'))
    expect(locateHome({ flag: undefined, environment: {}, cwd }).origin).toBe('project')
  })

  it('may begin with a tilde that no shell expanded', () => {
    expect(locateHome({ flag: '~/x', environment: { HOME: '/home/ann' }, cwd: '/' }).path).toBe('/home/ann/x')
  })

  it('must exist if it was named explicitly', async () => {
    const path = join(await temporaryFolder(), 'nope')
    const refused = async (origin: 'flag' | 'environment') => catchError((async () => requireHome({ path, origin }))())
    expect(await refused('flag')).toMatchObject({ code: 'HOME_UNREADABLE', hint: expect.stringContaining('--home') })
    expect(await refused('environment')).toMatchObject({ hint: expect.stringContaining('SALLYPORT_HOME') })
    expect(() => requireHome({ path, origin: 'user' })).not.toThrow()
  })

  it('is refused if the flag or the variable is empty', async () => {
    const attempt = (flag: string | undefined, environment: Record<string, string>) =>
      catchError((async () => locateHome({ flag, environment, cwd: '/' }))())
    expect(await attempt(' ', {})).toMatchObject({ code: 'USAGE' })
    expect(await attempt(undefined, { SALLYPORT_HOME: '' })).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('SALLYPORT_HOME is empty'),
    })
  })
})

describe('the state folder', () => {
  it('comes from the flag, the variable, or the user’s folder', async () => {
    const cwd = await temporaryFolder()
    await writeFile(join(cwd, '.sallyport'), '')
    expect(locateState({ flag: 's', environment: FULL, cwd })).toBe(join(cwd, 's'))
    expect(locateState({ flag: undefined, environment: FULL, cwd })).toBe('/state/variable')
    expect(locateState({ flag: undefined, environment: { XDG_STATE_HOME: '/xs' }, cwd })).toBe('/xs/sallyport')
    expect(locateState({ flag: undefined, environment: { HOME: '/home/ann' }, cwd })).toBe(
      '/home/ann/.local/state/sallyport',
    )
  })
})
