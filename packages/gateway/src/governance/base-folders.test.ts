// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in arguments are what is tested.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerConfig } from '../config/config.ts'
import { createBaseFinder } from './base-folders.ts'
import { createServerPathContext, REMOTE_PATH_CONTEXT } from './path-context.ts'

let root: string

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-bases-')))
  for (const folder of ['work/data', 'data', 'My Files, 2', 'home/notes'])
    mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'work/server.js'), '')
  writeFileSync(join(root, 'data/config.json'), '')
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const placed = (text: string): string => text.replaceAll('R:', root)

function basesOf(args: readonly string[], env: Readonly<Record<string, string>> = {}): readonly string[] {
  const places = { cwd: join(root, 'work'), userHome: join(root, 'home') }
  const environment = (name: string): string | undefined => (name === 'DATA' ? join(root, 'data') : undefined)
  const values = Object.entries(env).map(([name, value]) => [name, placed(value)])
  const find = createBaseFinder({ args: args.map(placed), env: Object.fromEntries(values), ...places, environment })
  return find().map((path) => path.replace(root, 'R:'))
}

describe('the folders from which a server may read relative paths', () => {
  it.each([
    ['R:/data', ['R:/data']],
    ['R:/data/', ['R:/data']],
    ['R:/work/../data', ['R:/data']],
    ['--root=R:/data', ['R:/data']],
    ['-CR:/data', ['R:/data']],
    ['root=R:/data', ['R:/data']],
    ['--roots=R:/data,R:/home', ['R:/data', 'R:/home']],
    ['R:/data:R:/home', ['R:/data', 'R:/home']],
    ['{"root":"R:/data"}', ['R:/data']],
    ['cd R:/data && exec serve', ['R:/data']],
    ['$DATA/x', ['R:/data/x']],
    ['${DATA}', ['R:/data']],
    ['~/notes', ['R:/home/notes']],
    ['~', ['R:/home']],
    ['.', ['R:/work']],
    ['..', ['R:']],
    ['./new', ['R:/work/new']],
    ['new/one', ['R:/work/new/one']],
    ['data', ['R:/work/data']],
    ['--root=data', ['R:/work/data']],
    ['R:/not/there/yet', ['R:/not/there/yet']],
    ['R:/My Files, 2', ['R:/My Files, 2']],
    ['--root=R:/My Files, 2', ['R:/My Files, 2']],
  ])('are found in %s', (word, folders) => {
    expect(basesOf([word])).toEqual(folders)
  })

  it('are found once the server has created one with a space or a comma in its name', () => {
    const folder = join(root, 'Later, perhaps')
    const start = { cwd: root, userHome: root, environment: (): undefined => undefined }
    const finders = [
      createBaseFinder({ ...start, args: [`--root=${folder}`], env: {} }),
      createBaseFinder({ ...start, args: [], env: { VAULT: folder } }),
    ]
    for (const find of finders) expect(find()).not.toContain(folder)
    mkdirSync(folder)
    for (const find of finders) expect(find()).toContain(folder)
  })

  it.each(['file://', 'FILE://localhost', '--root=file://'])('are found in URIs: %s', (scheme) => {
    expect(basesOf([`${scheme}${pathToFileURL(join(root, 'My Files, 2')).pathname}`])).toEqual(['R:/My Files, 2'])
  })

  it.each([
    '-y',
    '--verbose',
    'run',
    '@scope/server',
    'server.js',
    'R:/work/server.js',
    '--config=R:/data/config.json',
    'https://example.com/a/b',
    '--db=postgres://db/x',
    '',
    'a'.repeat(5_000),
    'a\0b',
  ])('are not found in %j', (word) => {
    expect(basesOf([word])).toEqual([])
  })

  it('are each listed once', () => {
    expect(basesOf(['R:/data', '--root=R:/data', '$DATA'])).toEqual(['R:/data'])
  })

  it('are found in the variables of the entry, except in search lists', () => {
    expect(basesOf([], { VAULT: 'R:/data', PATH: 'R:/home:/usr/bin', MODE: 'data', HOME: 'R:/home' })).toEqual([
      'R:/data',
    ])
  })

  it('are rechecked, because a server may create its own', () => {
    const find = createBaseFinder({
      ...{ args: ['later'], env: {}, environment: () => undefined },
      ...{ cwd: root, userHome: root },
    })
    expect(find()).toEqual([])
    mkdirSync(join(root, 'later'))
    expect(find()).toEqual([join(root, 'later')])
    rmSync(join(root, 'later'), { recursive: true })
  })

  it('are all listed if there are too many to check', () => {
    const words = Array.from({ length: 201 }, (_, at) => `w${at}`)
    expect(basesOf([words.join(' ')])).toHaveLength(202)
  })
})

describe('the file system of a server', () => {
  const program = { kind: 'stdio', command: 'node', args: ['/data'], env: {}, cwd: '/work' } as unknown as ServerConfig

  it('is this machine for a local program', () => {
    const world = createServerPathContext(program, { HOME: '/home/ann' })
    expect(world).toMatchObject({ cwd: '/work', userHome: '/home/ann' })
    expect(world.listBaseFolders()).toEqual(['/data'])
  })

  it.each([
    undefined,
    { kind: 'http', url: 'https://example.com/mcp' },
    { ...program, kind: 'docker-gateway' },
    { ...program, command: 'docker' },
    { ...program, command: '/usr/bin/podman' },
    { ...program, command: 'ssh' },
  ])('is not known for other servers: %j', (server) => {
    expect(createServerPathContext(server as ServerConfig | undefined, {})).toBe(REMOTE_PATH_CONTEXT)
  })
})
