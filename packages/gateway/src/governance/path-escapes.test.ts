// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in paths are what is tested.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, normalize, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ALLOW, compilePathRules, type PathCheck } from '@sallyport/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPathContext } from './path-context.ts'

let root: string
let app: string
let home: string
let judge: PathCheck

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-escapes-')))
  app = join(root, 'app')
  home = join(root, 'app/home')
  for (const folder of ['app/a/b/c', 'app/home', 'etc/x']) mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'etc/shadow'), '')
  symlinkSync('../etc', join(app, 'out'))
  symlinkSync('a/b/c', join(app, 'in'))
  symlinkSync('../../../etc/x', join(app, 'a/b/far'))
  symlinkSync('.', join(app, 'a/here'))
  symlinkSync('..', join(app, 'a/up'))
  const world = createPathContext({ environment: variables(), userHome: home, cwd: app, platform: 'linux' })
  judge = compilePathRules({ allowedPaths: { value: [app], reason: '' } }, world)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const variables = (): Record<string, string> => ({ UP: '..', A: join(root, 'app/a'), EMPTY: '' })

/** Resolves a path and follows links in the part of it that exists. */
function realEnd(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path === '/' ? path : resolve(realEnd(dirname(path)), basename(path))
  }
}

const expandHome = (value: string): string => value.replace(/^~(?=\/|$)/, home)
const expandVariables = (value: string): string =>
  value.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, plain) => variables()[braced ?? plain] ?? '')
const decode = (value: string): string => decodeURIComponent(value)
const slashes = (value: string): string => value.replaceAll('\\', '/')
const stripScheme = (value: string): string => value.replace(/^file:\/\//i, '')
const url = (value: string): string => (/^\s*file:/i.test(value) ? fileURLToPath(value) : value)
const fold = (value: string): string => value.normalize('NFKC')
const trim = (value: string): string => value.trim()
const unquote = (value: string): string => value.replaceAll(/^["']|["']$/g, '')

type Habit = (value: string) => string
const HABITS: readonly Habit[] = [
  expandHome,
  expandVariables,
  decode,
  slashes,
  stripScheme,
  url,
  fold,
  trim,
  unquote,
  normalize,
]

/** The path that such a server would open; `undefined` if it would fail. */
function opened(value: string, habits: readonly Habit[], last: Habit): string | undefined {
  try {
    return realEnd(last(habits.reduce((text, habit) => habit(text), value)))
  } catch {
    return undefined
  }
}

const PARTS = [
  ...['/', '/', '/', '..', '..', '.', '//', 'a', 'b', 'c', 'in', 'out', 'far', 'here', 'up', 'etc', 'shadow', 'app'],
  ...['%2e', '%2e%2e', '%2f', '%252e', '\\', '．', '／', '‥', ' ', '?', '#', '~', '~/', 'file:', 'file://', 'file:///'],
  ...[
    '$UP',
    '${UP}',
    '$A',
    '$EMPTY',
    '$x',
    '{..,a}',
    '{a,b}',
    'R:',
    'R:/app',
    'R:/app/',
    'localhost',
    'x:',
    'new',
    '"',
    "'",
  ],
]

describe('a value that is allowed', () => {
  it('leads no server out of the allowed folder, however the server reads paths', () => {
    const value = fc
      .array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 9 })
      .map((parts) => parts.join('').replaceAll('R:', root))
    const habits = fc.shuffledSubarray([...HABITS], { maxLength: 4 })
    const last = fc.constantFrom<Habit>(
      (text) => resolve(app, text),
      (text) => (text.startsWith('/') ? text : `${app}/${text}`),
    )
    let allowed = 0
    fc.assert(
      fc.property(value, habits, last, (text, chosen, finish) => {
        if (judge([{ where: 'path', value: text }]) !== ALLOW) return
        allowed++
        const end = opened(text, chosen, finish)
        const inside = end === undefined || end === app || end.startsWith(`${app}/`)
        expect(inside ? 'inside' : `${JSON.stringify(text)} leads ${chosen.map(({ name }) => name)} to ${end}`).toBe(
          'inside',
        )
      }),
      { numRuns: 3_000 },
    )
    expect(allowed).toBeGreaterThan(100)
  })

  it('is resolved like the kernel resolves it', () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'c', 'in', 'here', 'up', 'out', 'far', 'x', '.', ''), {
      maxLength: 7,
    })
    fc.assert(
      fc.property(names, (way) => {
        const path = [app, ...way].join('/')
        const end = realEnd(path)
        const world = createPathContext({ environment: {}, userHome: home, cwd: app, platform: 'linux' })
        const only = compilePathRules({ allowedPaths: { value: [end], reason: '' } }, world)
        expect(only([{ where: 'path', value: path }])).toBe(ALLOW)
        expect(only([{ where: 'path', value: end }])).toBe(ALLOW)
        expect(only([{ where: 'path', value: dirname(end) }]).outcome).toBe('deny')
      }),
      { numRuns: 500 },
    )
  })
})
