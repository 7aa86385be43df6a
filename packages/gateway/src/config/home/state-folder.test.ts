import { chmod, chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asOrdinaryUser, catchError, temporaryFolder } from './home.test-kit.ts'
import { prepareState } from './state-folder.ts'

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

describe('the state folder', () => {
  it('is created for its owner only, and left empty', async () => {
    const path = join(await temporaryFolder(), 'a', 'b')
    expect(await prepareState(path)).toEqual({ path, warnings: [] })
    expect(await modeOf(path)).toBe(0o700)
    expect(await readdir(path)).toEqual([])
  })

  it('is made private if it was open to others, with a warning', async () => {
    const path = await temporaryFolder()
    await chmod(path, 0o755)
    expect((await prepareState(path)).warnings).toEqual([expect.stringContaining('mode 755')])
    expect(await modeOf(path)).toBe(0o700)
    expect((await prepareState(path)).warnings).toEqual([])
  })

  it('is refused if it is a file or below a file', async () => {
    const file = join(await temporaryFolder(), 'file')
    await writeFile(file, '')
    expect(await catchError(prepareState(file))).toMatchObject({
      code: 'STATE_UNUSABLE',
      hint: expect.stringContaining('a file'),
    })
    expect(await catchError(prepareState(join(file, 'x')))).toMatchObject({
      code: 'STATE_UNUSABLE',
      hint: expect.stringContaining('a file'),
    })
  })

  it('is refused if it cannot be written', async () => {
    const parent = await temporaryFolder()
    await chmod(parent, 0o555)
    const error = await asOrdinaryUser(() => catchError(prepareState(join(parent, 'x'))))
    await chmod(parent, 0o755)
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE', hint: expect.stringMatching(/right to write.*--state/) })
  })

  it.runIf(process.getuid?.() === 0)('is refused if it belongs to another user', async () => {
    const path = join(await temporaryFolder(), 'x')
    await mkdir(path)
    await chown(path, 65_534, 65_534)
    expect(await catchError(prepareState(path))).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('belongs to the user with id 65534'),
    })
  })
})
