import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Mount } from '../drivers/driver.ts'
import { planProgram } from './plan-program.ts'
import { createProtection } from './protected-folders.ts'

let root: string
let home: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-plan-')))
  home = join(root, 'home/me')
  mkdirSync(home, { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Creates a file below the home folder; programs can be executed. */
function write(path: string, content = '#!/bin/sh\n'): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  chmodSync(file, 0o755)
  return file
}

function link(path: string, target: string): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  symlinkSync(target, file)
  return file
}

function plan(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const own = [join(home, 'repo/.sallyport'), join(home, '.local/state/sallyport')]
  return planProgram({
    ...{ command: command as [string, ...string[]], cwd: home, mounts: [] },
    environment: { PATH: '/usr/bin:/bin', HOME: home, ...environment },
    protection: createProtection({ userHome: home, own }),
  })
}

/** What a command shows of the home folder. */
const shownBy = (command: readonly string[], environment?: Readonly<Record<string, string>>): readonly string[] =>
  plan(command, environment).mounts.map(({ guest, access }) => {
    expect(access).toBe('read')
    return guest.replace(`${home}/`, '')
  })

describe('of a program in the home folder a sandbox sees', () => {
  it('nothing for one of the system', () => {
    expect(shownBy(['/usr/bin/env'])).toEqual([])
    expect(shownBy(['env'])).toEqual([])
  })

  it('the parts of its installation, and no more of the folder around them', () => {
    write('.nvm/v20/lib/node_modules/npm/x.js')
    write('.nvm/v20/secrets')
    const node = write('.nvm/v20/bin/node', 'binary')
    expect(shownBy([node])).toEqual(['.nvm/v20/bin', '.nvm/v20/lib'])
    expect(shownBy(['node'], { PATH: dirname(node) })).toEqual(['.nvm/v20/bin', '.nvm/v20/lib'])
  })

  it('a venv, and the Python that it was made from', () => {
    const base = write('pythons/3.11/bin/python3', 'binary')
    write('pythons/3.11/lib/python3.11/os.py')
    write('project/.venv/pyvenv.cfg', `home = ${dirname(base)}\nversion = 3.11\n`)
    link('project/.venv/bin/python', base)
    expect(shownBy([join(home, 'project/.venv/bin/python'), '-m', 'server'])).toEqual([
      'project/.venv',
      'pythons/3.11/bin',
      'pythons/3.11/lib',
    ])
  })

  it('the project of each file that its links lead to', () => {
    write('tools/package.json', '{}')
    const file = write('tools/dist/cli.js', '#!/usr/bin/env node\n')
    link('.local/bin/tool', file)
    expect(shownBy([join(home, '.local/bin/tool')])).toEqual(['.local/bin/tool', 'tools'])
  })

  it('the file alone if it is in the home folder itself', () => {
    expect(shownBy([write('program')])).toEqual(['program'])
  })

  it('nothing of a folder that is never shown', () => {
    write('.ssh/package.json', '{}')
    for (const command of [[write('.ssh/program')], ['sh', write('.ssh/script.sh')]])
      expect(() => plan(command)).toThrow('is never shown to sandboxes')
    expect(shownBy(['cat', write('.ssh/key')])).toEqual([])
  })

  it('its interpreter as well', () => {
    const node = write('opt/node/bin/node', 'binary')
    const script = write('scripts/run', '#!/usr/bin/env node\n')
    expect(shownBy([script], { PATH: `${dirname(node)}:/usr/bin` })).toEqual(['scripts', 'opt/node/bin'])
  })
})

describe('of its arguments a sandbox sees', () => {
  it('the project of a script, and the packages around it', () => {
    write('repo/node_modules/left-pad/index.js')
    write('repo/packages/server/package.json', '{}')
    write('repo/packages/server/src/server.mjs')
    const shown = ['repo/packages/server', 'repo/node_modules']
    expect(shownBy(['sh', 'repo/packages/server/src/server.mjs'])).toEqual(shown)
    expect(shownBy(['sh', '--import=./repo/packages/server/src/server.mjs'])).toEqual(shown)
  })

  it('no file that is not a script, no folder, and no script that does not exist', () => {
    write('notes.txt')
    write('.ssh/id_rsa')
    mkdirSync(join(home, 'folder.js'))
    expect(shownBy(['cat', 'notes.txt', '.ssh/id_rsa', 'folder.js', 'missing.js', home])).toEqual([])
  })

  it('never the home folder, even if it looks like a project', () => {
    write('package.json', '{}')
    write('server.mjs')
    write('deep/server.mjs')
    expect(shownBy(['sh', 'server.mjs'])).toEqual(['server.mjs'])
    expect(shownBy(['sh', 'deep/server.mjs'])).toEqual(['deep'])
  })

  it('a project without the folders in it that are never shown', () => {
    write('repo/package.json', '{}')
    write('repo/.sallyport/config.yaml')
    const { mounts, hidden } = plan(['sh', write('repo/src/server.js')])
    expect(mounts.map(({ guest }) => guest)).toEqual([join(home, 'repo')])
    expect(hidden).toEqual([join(home, 'repo/.sallyport')])
  })

  it('no folder of the user as a whole that many programs use', () => {
    write('.config/package.json', '{}')
    expect(shownBy(['sh', write('.config/tool/server.js')])).toEqual(['.config/tool'])
    expect(shownBy([write('.local/bin/program')])).toEqual(['.local/bin/program'])
  })
})

describe('a package that a runner has installed', () => {
  const install = (folder: string, spec: string, name = 'tool'): void => {
    write(`.npm/_npx/${folder}/package.json`, JSON.stringify({ _npx: { packages: [spec] } }))
    write(`.npm/_npx/${folder}/node_modules/${name}/package.json`, JSON.stringify({ bin: './run.js' }))
    write(`.npm/_npx/${folder}/node_modules/${name}/run.js`)
  }

  it('is started directly, and is all of the cache that is shown', () => {
    install('aaa', 'tool')
    install('bbb', '@acme/other@1.2.3', '@acme/other')
    const found = plan(['npx', '-y', '@acme/other@1.2.3', '--flag'])
    expect(found.program).toBe(join(home, '.npm/_npx/bbb/node_modules/@acme/other/run.js'))
    expect(found).toMatchObject({ args: ['--flag'], notes: [] })
    expect(found.mounts.map(({ guest }) => guest)).toEqual([join(home, '.npm/_npx/bbb')])
  })

  it('is found for uvx as a tool, or in its cache', () => {
    write('.cache/uv/environments-v2/x/y/pyvenv.cfg', 'home = /usr/bin\n')
    const cached = write('.cache/uv/environments-v2/x/y/bin/server-time')
    expect(plan(['uvx', 'server-time', '-v'])).toMatchObject({ program: cached, args: ['-v'], notes: [] })
    const tool = write('.local/share/uv/tools/server-time/bin/server-time')
    expect(plan(['uvx', 'server-time']).program).toBe(tool)
  })

  it('is left to the runner if it is missing, or if the runner has options that we do not know; the user is told', () => {
    write('bin/npx')
    const path = { PATH: join(home, 'bin') }
    const missing = plan(['npx', '-y', 'absent'], path)
    expect(missing.program).toBe(join(home, 'bin/npx'))
    expect(missing.notes.join()).toContain('npx has not installed this package yet')
    expect(plan(['npx', '--package', 'a', 'b'], path)).toMatchObject({ args: ['--package', 'a', 'b'], notes: [] })
  })
})

describe('the program starts', () => {
  it('in the working folder only if a script is named relative to it', () => {
    write('server.mjs')
    expect(plan(['sh', 'server.mjs']).cwd).toBe(home)
    expect(plan(['sh', join(home, 'server.mjs')]).cwd).toBe('/workspace')
    expect(plan(['sh', '-c', 'true']).cwd).toBe('/workspace')
  })

  it('at the same place of the workspace', () => {
    const protection = createProtection({ userHome: home, own: [] })
    const mounts = [{ host: root, guest: '/workspace', access: 'write' as const }]
    const request = { command: ['sh'] as [string], cwd: home, environment: { PATH: '/bin' }, mounts, protection }
    expect(planProgram(request).cwd).toBe('/workspace/home/me')
  })
})

describe('a program that works in a folder', () => {
  it('starts there if the folder is mounted, wherever it is inside', () => {
    const work = join(home, 'work/deep')
    mkdirSync(work, { recursive: true })
    const protection = createProtection({ userHome: home, own: [] })
    const cwdWith = (...mounts: readonly Mount[]): string =>
      planProgram({ command: ['env'], cwd: work, mounts, protection, environment: { PATH: '/usr/bin' } }).cwd
    const mount = (host: string, guest: string): Mount => ({ host, guest, access: 'read' })
    expect(cwdWith()).toBe('/workspace')
    expect(cwdWith(mount(join(home, 'work'), join(home, 'work')))).toBe(work)
    expect(cwdWith(mount(home, '/a'), mount(join(home, 'work'), '/b'))).toBe('/b/deep')
    expect(cwdWith(mount(work, '/b'), mount(join(home, 'work'), '/workspace'))).toBe('/workspace/deep')
  })

  it('is refused if it is in one that is never shown, and says so', () => {
    const script = write('repo/.sallyport/server.mjs')
    const message = `${script} cannot run in a sandbox: ${join(home, 'repo/.sallyport')} is never shown to sandboxes.`
    expect(() => plan(['node', script])).toThrow(message)
    expect(() => plan([script])).toThrow(message)
  })
})
