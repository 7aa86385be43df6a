// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in paths are what is tested.

import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ALLOW, type Verdict } from '../policy/decide.ts'
import { findPaths, findUriPaths } from './path-arguments.ts'
import { createDiskContext, createTree, UNKNOWN_CONTEXT } from './path-context.test-kit.ts'
import type { PathContext } from './path-context.ts'
import { checkPathPattern, compilePathMatcher, compilePathRules } from './path-rules.ts'

let root: string
let remove: () => void
let world: PathContext

const TREE = [
  ...['app/a.txt', 'app/sub/deep/', 'app-evil/x', 'etc/shadow', 'etc/nested/', 'home/project/', 'data/secret/keys'],
  ...['app/out -> ../etc', 'app/in -> sub', 'app/down -> sub/deep', 'app/o$x -> ../etc', 'app/loop -> loop'],
  ...['link -> app', 'app/sub/far -> ../../etc/nested', 'data/way -> ../etc'],
  ...['app/e\u0301 -> ../etc', 'app/e\u0301\u00e8 -> ../etc', 'app/o\u0301/way -> ../../etc', 'app/\u212a -> ../etc'],
  ...['app/pair\u00e9e\u0301 -> sub', 'app/paire\u0301\u00e9 -> sub', 'etc/u\u0301 -> ../app/sub'],
]

/** `app` is the working folder. */
beforeAll(() => {
  const tree = createTree(TREE)
  root = tree.root
  remove = tree.remove
  const variables = new Map(Object.entries({ APP: join(root, 'app'), UP: '..', HOME: join(root, 'home') }))
  world = createDiskContext(join(root, 'app'), {
    environment: (name) => variables.get(name),
    userHome: join(root, 'home'),
  })
})

afterAll(() => remove())

interface Rules {
  readonly allowed?: readonly string[]
  readonly forbidden?: readonly string[]
}

const placed = (text: string): string => text.replaceAll('R:', root)

function judge(value: string, { allowed, forbidden }: Rules, where: PathContext = world): Verdict {
  const rule = (line: number) => ({ file: 'tools.yaml', line })
  const rules = {
    ...(allowed && { allowedPaths: { value: allowed.map(placed), reason: 'written', rule: rule(7) } }),
    ...(forbidden && { forbiddenPaths: { value: forbidden.map(placed), reason: 'written', rule: rule(8) } }),
  }
  return compilePathRules(rules, where)([{ where: 'path', value: placed(value) }])
}

const outcome = (value: string, rules: Rules): string => judge(value, rules).outcome

const IN_APP: Rules = { allowed: ['R:/app/**'] }

describe(`${promise('GOV-15')} allowed paths`, () => {
  it.each([
    'R:/app',
    'R:/app/',
    'R:/app/a.txt',
    'R:/app/not/there/yet.txt',
    'R:/app/./sub//deep/../deep',
    'R:/app/in/deep',
    'R:/link/a.txt',
    'R:/etc/../app/a.txt',
    'a.txt',
    './sub/../a.txt',
    '',
    'file://R:/app/a.txt',
    'file:R:/app/a.txt',
    'FILE://localhostR:/app/a.txt',
    'file://R:/app/a%20b.txt',
    'R:/app/100%.txt',
    'R:/app/a%20b.txt',
    '$APP/a.txt',
    '${APP}/a.txt',
    'routes/$id.tsx',
    'R:/app/Outer$Inner.class',
    'R:/app/ﬁle.txt',
    'R:/app/\u00e4.txt',
    'R:/app/sub/K',
    '"a.txt"',
    'R:/app/{a,b}.txt',
    'R:/app/sub\\deep',
    'https://example.com/etc/shadow',
  ])('with /app/** allow %s', (value) => {
    expect(judge(value, IN_APP)).toBe(ALLOW)
  })

  it.each([
    'R:/etc/shadow',
    'R:/app/../etc/shadow',
    'R:/app/sub/../../etc/shadow',
    'R:/app//..//etc/shadow',
    'R:/app/./../etc/shadow',
    'R:/app/nothing/../../etc/shadow',
    'R:/app/a.txt/../../etc/shadow',
    'R:/app-evil/x',
    'R:/app/../app-evil/x',
    '../etc/shadow',
    'sub/../../etc/shadow',
    '/',
    '..',
  ])('with /app/** deny %s', (value) => {
    expect(outcome(value, IN_APP)).toBe('deny')
  })

  it.each([
    ['a link out', 'R:/app/out/shadow'],
    ['a link itself', 'R:/app/out'],
    ['something new behind a link', 'R:/app/out/new.txt'],
    ['a link behind a link', 'R:/link/out/shadow'],
    ['a link in a folder behind a link', 'R:/app/in/far'],
    ['.. behind a link, as the kernel walks it', 'R:/app/sub/far/../shadow'],
    ['.. behind a link, as a text', 'R:/app/out/../../etc/shadow'],
    ['.. behind a link that stays inside for the kernel only', 'R:/app/down/../../etc/shadow'],
    ['a link to itself', 'R:/app/loop/x'],
    ['a link behind a folder that is not there', 'R:/app/nothing/../sub/far/../shadow'],
    ['a link in a URI with a question', 'file://R:/app/out?x'],
    ['dots in a URI with a hash', 'file://R:/app/sub/..#/../../x/../../etc'],
    ['a link that has a variable in its name', '$APP/o$x/shadow'],
    ['a link whose name reads the same', 'R:/app/\u00e9/shadow'],
    ['a link whose name is composed in part', 'R:/app/\u00e9\u00e8/shadow'],
    ['a link in a folder whose name reads the same', 'R:/app/\u00f3/way/shadow'],
    ['a link whose name reads the same as a letter', 'R:/app/K/shadow'],
    ['a name that is equivalent to two existing names', 'R:/app/pair\u00e9\u00e9'],
    ['a new name for which a link outside leads back', 'R:/etc/\u00fa'],
    ['quotes around a path', '"R:/etc/shadow"'],
    ['a quote before a path', "'R:/etc/shadow"],
  ])('deny %s', (_, value) => {
    expect(outcome(value, IN_APP)).toBe('deny')
  })

  it.each([
    ['percent-encoded dots', 'R:/app/%2e%2e/etc/shadow'],
    ['percent-encoded slashes', 'R:/app/..%2fetc%2Fshadow'],
    ['doubly encoded dots', 'R:/app/%252e%252e/etc/shadow'],
    ['triply encoded dots', 'R:/app/%25252e%25252e/etc/shadow'],
    ['dots of which one is encoded', 'R:/app/.%2e/etc/shadow'],
    ['overlong UTF-8', 'R:/app/%c0%ae%c0%ae/etc/shadow'],
    ['an encoded NUL', 'R:/app/a.txt%00.png'],
    ['a NUL', 'R:/app/a.txt\0.png'],
    ['a line break', 'R:/app/a\n.txt'],
    ['a URI to the outside', 'file://R:/etc/shadow'],
    ['a URI with dots', 'file://R:/app/../etc/shadow'],
    ['a URI with encoded dots', 'file://R:/app/%2e%2e/etc/shadow'],
    ['a URI with doubly encoded dots', 'file://R:/app/%252e%252e/etc/shadow'],
    ['a URI with backslashes', 'file://R:/app\\..\\etc\\shadow'],
    ['a URI without slashes before its path', 'file:R:/etc/shadow'],
    ['a URI with dots behind a question mark', 'file://R:/app/a?/../../etc/shadow'],
    ['a URI with dots behind a hash', 'file://R:/app/a#/../../etc/shadow'],
    ['a URI whose tab would be left out', 'file://R:/app/.\t./etc/shadow'],
    ['a URI in capitals', 'FILE://R:/etc/shadow'],
    ['a URI behind a space', ' file://R:/etc/shadow'],
    ['a URI with a host', 'file://etc/shadow'],
    ['a URI with two slashes too many', 'file:///R:/app/a.txt'],
    ['a URI of a Windows drive', 'file:///c:/app'],
    ['a URI that is one when it is made shorter', 'sub/../file:R:/etc/shadow'],
    ['a relative URI', 'file:../etc/shadow'],
    ['a URI within another', 'jar:file://R:/app/a.jar!/x'],
    ['full-width dots and slashes', 'R:/app／．．／etc／shadow'],
    ['a two-dot leader', 'R:/app/‥/etc/shadow'],
    ['encoded full-width dots', 'R:/app/%ef%bc%8e%ef%bc%8e/etc/shadow'],
    ['backslashes', 'R:/app\\..\\..\\etc\\shadow'],
    ['a path behind a space', '  R:/etc/shadow'],
    ['a path behind a no-break space', '\u00a0R:/etc/shadow'],
    ['braces that stand for dots', 'R:/app/{..,x}/etc/shadow'],
    ['braces that stand for dots and much else', `R:/app/{..,${'x,'.repeat(20)}y}/etc/shadow`],
    ['braces that stand for dots beside one that is open', 'R:/app/{..,x}/etc/shadow{'],
    ['a drive', 'C:\\app\\a.txt'],
    ['a drive with slashes', 'c:/app/a.txt'],
    ['a Windows host', '\\\\host\\app'],
    ['a device path', '\\\\?\\C:\\x'],
    ['the home folder', '~/secret'],
    ['the way up from the home folder', '~/../etc/shadow'],
    ['the home folder of another', '~root/x'],
    ['a variable to the outside', '$HOME/secret'],
    ['a variable that goes up', 'R:/app/$UP/etc/shadow'],
    ['a variable in braces that goes up', 'R:/app/${UP}/etc/shadow'],
    ['a variable that is not known', 'R:/app/$NOBODY/x'],
    ['a variable that may vanish', 'R:/app/.$x./etc/shadow'],
    ['a parameter that may vanish', 'R:/app/.$1./etc/shadow'],
    ['a variable with a default', 'R:/app/${x:-..}/etc/shadow'],
    ['an encoded variable', 'R:/app/%24UP/etc/shadow'],
    ['a command in a path', 'R:/app/$(echo ..)/etc/shadow'],
    ['a web address that goes up', 'https://x/../../../../etc/shadow'],
    ['a lone surrogate', 'R:/app/\ud800'],
    ['a path that is too long', `R:/app/${'a/'.repeat(3000)}`],
    ['a name that is too long', `R:/app/${'a'.repeat(300)}/x`],
    ['a scheme that is a folder', 'x:/../../etc/shadow'],
  ])('deny %s', (_, value) => {
    expect(outcome(value, IN_APP)).toBe('deny')
  })

  it('also check what a server that does not expand ~ would open', () => {
    // The working folder has no "~", but programs that normalise paths never ask for it.
    const rules = { allowed: ['R:/home/**', 'R:/home'] }
    expect(judge('~/project/x', rules)).toBe(ALLOW)
    expect(outcome('~/../home/x', rules)).toBe('deny')
    const inBoth = { allowed: ['R:/app', 'R:/shadow'] }
    expect(judge('~/../shadow', inBoth)).toBe(ALLOW)
    symlinkSync('../etc/nested', join(root, 'app/~'))
    expect(outcome('~/../shadow', inBoth)).toBe('deny')
    rmSync(join(root, 'app/~'))
  })

  it('deny every path if the list is empty', () => {
    expect(outcome('R:/app/a.txt', { allowed: [] })).toBe('deny')
  })

  it('name the argument, the value as written and the rule', () => {
    expect(judge('R:/app/../etc/shadow\u202e', IN_APP)).toEqual({
      outcome: 'deny',
      code: 'ARGUMENTS_FORBIDDEN',
      reason: expect.stringMatching(
        /^The argument path with ".*\/app\/\.\.\/etc\/shadow\\u202e" is not in allowed_paths\.$/,
      ),
      rule: { file: 'tools.yaml', line: 7 },
    })
    expect(judge('R:/app/out/shadow', IN_APP)).toMatchObject({
      reason: expect.stringMatching(/is not in allowed_paths once links are followed\.$/),
    })
  })

  it('ignore only the pattern that cannot be used', () => {
    const rules = { allowed: ['${NOWHERE}/**', 'R:/app'] }
    expect(judge('R:/app/a.txt', rules)).toBe(ALLOW)
    expect(judge('R:/etc/shadow', rules)).toMatchObject({
      reason: expect.stringContaining('one cannot be used: "${NOWHERE}/**": the variable NOWHERE is not set'),
    })
  })

  it('do not move when a folder is replaced by a link', () => {
    const folder = join(root, 'app/work')
    mkdirSync(folder)
    const rules = compilePathRules({ allowedPaths: { value: [folder], reason: '' } }, world)
    const found = [{ where: 'path', value: join(folder, 'shadow') }]
    expect(rules(found)).toBe(ALLOW)
    rmSync(folder, { recursive: true })
    symlinkSync(join(root, 'etc'), folder)
    expect(rules(found).outcome).toBe('deny')
    rmSync(folder)
  })
})

describe('forbidden paths', () => {
  it.each([
    'R:/etc/shadow',
    'R:/app/../etc/shadow',
    'R:/app/out/shadow',
    'R:/app/out',
    'R:/app/in/far',
    'file://R:/app/%2e%2e/etc/shadow',
    'R:/app/%2e%2e/etc/shadow',
    'R:/app\\..\\etc',
    'R:/app/$UP/etc',
    'R:/loop',
    'C:/x',
  ])('deny %s', (value) => {
    expect(outcome(value, { forbidden: ['R:/etc/**', 'R:/loop'] })).toBe('deny')
  })

  it('take precedence over allowed paths', () => {
    const rules = { allowed: ['R:/app/**'], forbidden: ['R:/app/sub'] }
    expect(judge('R:/app/a.txt', rules)).toBe(ALLOW)
    expect(judge('R:/app/in/x', rules)).toEqual({
      outcome: 'deny',
      code: 'ARGUMENTS_FORBIDDEN',
      reason: expect.stringMatching(/^The argument path with ".*" is in forbidden_paths \(".*\/app\/sub"\)\.$/),
      rule: { file: 'tools.yaml', line: 8 },
    })
  })

  it('apply to a path as written and with links resolved', () => {
    expect(outcome('R:/app/out/shadow', { forbidden: ['R:/app/out'] })).toBe('deny')
    expect(outcome('R:/etc/shadow', { forbidden: ['R:/app/out'] })).toBe('deny')
    expect(outcome('R:/app/out/shadow', { forbidden: ['R:/app/*/shadow'] })).toBe('deny')
    expect(outcome('R:/app/a.txt', { forbidden: ['R:/app/out'] })).toBe('allow')
  })

  it('follow a link that is created later, and remember the target of a deleted one', () => {
    const link = join(root, 'current')
    const found = [{ where: 'path', value: join(root, 'etc/shadow') }]
    const before = compilePathRules({ forbiddenPaths: { value: [link], reason: '' } }, world)
    expect(before(found)).toBe(ALLOW)
    symlinkSync(join(root, 'etc'), link)
    expect(before(found).outcome).toBe('deny')
    const after = compilePathRules({ forbiddenPaths: { value: [link], reason: '' } }, world)
    rmSync(link)
    expect(before(found)).toBe(ALLOW)
    expect(after(found).outcome).toBe('deny')
  })

  it('refuse every path while one of them cannot be used', () => {
    expect(outcome('R:/app/a.txt', { forbidden: ['${UNSET}/**'] })).toBe('deny')
    expect(outcome('https://example.com/', { forbidden: ['${UNSET}/**'] })).toBe('allow')
  })

  it('include other spellings if the disk treats them as the same', () => {
    const folded: PathContext = { ...world, case: 'folded' }
    expect(judge('R:/ETC/Shadow', { forbidden: ['R:/etc/**'] }, folded).outcome).toBe('deny')
    expect(judge('R:/etc/ſhadow', { forbidden: ['R:/etc/S*'] }, folded).outcome).toBe('deny')
    expect(judge('R:/ETC/x', { forbidden: ['R:/etc/**'] }).outcome).toBe('allow')
    expect(judge('R:/APP/x', { allowed: ['R:/app/**'] }, folded).outcome).toBe('deny')
  })
})

describe('path rules', () => {
  it('allow everything if there are none', () => {
    expect(compilePathRules({}, world)([{ where: 'path', value: 'C:\\\0' }])).toBe(ALLOW)
    expect(judge('R:/etc/shadow', { forbidden: [] })).toBe(ALLOW)
  })

  it('refuse an argument that should be a path but is not', () => {
    const found = findPaths({ path: 5 }, undefined)
    const rules = compilePathRules({ allowedPaths: { value: ['**'], reason: '' } }, world)
    expect(rules(found)).toMatchObject({
      outcome: 'deny',
      reason: 'The argument path cannot be checked against path rules: it is a number, and a path must be a string.',
    })
  })

  it('name the rule because of which an unresolvable path is denied', () => {
    expect(judge('C:/x', { allowed: ['**'] }).rule?.line).toBe(7)
    expect(judge('C:/x', { forbidden: ['/x'] }).rule?.line).toBe(8)
    expect(judge('C:/x', { allowed: ['**'], forbidden: ['/x'] }).rule?.line).toBe(8)
  })

  it('check every path of a call', () => {
    const args = { edits: [{ path: 'a.txt' }, { path: '../etc/shadow' }], note: `file://${root}/app/b` }
    const rules = compilePathRules({ allowedPaths: { value: [`${root}/app`], reason: '' } }, world)
    expect(rules(findPaths(args, undefined))).toMatchObject({
      outcome: 'deny',
      reason:
        'The argument edits[1].path with "../etc/shadow" is not in allowed_paths from every folder that the server may read it from; use an absolute path.',
    })
  })

  it('check the URI of a resource', () => {
    const rules = compilePathRules({ allowedPaths: { value: [`${root}/app`], reason: '' } }, world)
    expect(rules(findUriPaths(`file://${root}/app/a.txt`))).toBe(ALLOW)
    expect(rules(findUriPaths(`file://${root}/app/../etc/shadow`)).outcome).toBe('deny')
    expect(rules(findUriPaths(`url:file://${root}/etc/shadow`)).outcome).toBe('deny')
    expect(rules(findUriPaths('memo://insights'))).toBe(ALLOW)
  })

  it('accept only absolute paths on another machine', () => {
    const rules = { allowed: ['/srv/**'] }
    expect(judge('/srv/x/../y', rules, UNKNOWN_CONTEXT)).toBe(ALLOW)
    expect(judge('/srv/../etc', rules, UNKNOWN_CONTEXT).outcome).toBe('deny')
    expect(judge('x', rules, UNKNOWN_CONTEXT)).toMatchObject({
      outcome: 'deny',
      reason: expect.stringMatching(/it is relative, .* is not known; use an absolute path\.$/),
    })
    expect(judge('~/x', { allowed: ['**'] }, UNKNOWN_CONTEXT).outcome).toBe('deny')
  })
})

describe(`${promise('GOV-23')} unattended paths`, () => {
  const covers = (values: readonly string[], patterns: readonly string[]): boolean =>
    compilePathMatcher(patterns.map(placed), world)(values.map((value) => ({ where: 'p', value: placed(value) })))

  it('cover a call if all of its paths match', () => {
    expect(covers(['R:/app/a', 'sub/b'], ['R:/app/**'])).toBe(true)
    expect(covers(['R:/app/a', 'R:/etc/b'], ['R:/app/**'])).toBe(false)
    expect(covers(['R:/app/out/b'], ['R:/app/**'])).toBe(false)
  })

  it('do not cover a call without a path, or with a path that cannot be checked', () => {
    expect(covers([], ['**'])).toBe(false)
    expect(covers(['https://example.com/'], ['**'])).toBe(false)
    expect(covers(['C:/x'], ['**'])).toBe(false)
    expect(covers(['R:/app/a'], [])).toBe(false)
    const onAnotherMachine = compilePathMatcher(['/srv'], UNKNOWN_CONTEXT)
    expect(['/srv/x', '/etc/x', 'x'].map((value) => onAnotherMachine([{ where: 'p', value }]))).toEqual([
      ...[true, false, false],
    ])
    expect(covers(['R:/app/a'], ['${UNSET}/**'])).toBe(false)
    expect(compilePathMatcher(['**'], world)([{ where: 'p', problem: 'it is a number' }])).toBe(false)
  })
})

describe('whatever a path contains', () => {
  const noise = fc.constantFrom('.', '', 'sub/..', 'nothing/..', './/.', 'sub/deep/../..', '%2e', '%2E/', 'a.txt/..')
  /** A path of a file, with any number of detours between its names. */
  const detours = (names: readonly string[]): fc.Arbitrary<string> =>
    fc
      .array(fc.array(noise, { maxLength: 3 }), { minLength: names.length, maxLength: names.length })
      .map((runs) => names.map((name, at) => [...(runs[at] ?? []), name].join('/')).join('/'))

  it('a file outside is never allowed', () => {
    fc.assert(
      fc.property(detours(['app', '..', 'etc', 'shadow']), fc.constantFrom('', 'file://'), (way, scheme) => {
        expect(outcome(`${scheme}R:/${way}`, IN_APP)).toBe('deny')
      }),
    )
  })

  it('a file inside that is forbidden stays so', () => {
    fc.assert(
      fc.property(detours(['app', 'in', 'secret']), fc.boolean(), (way, everything) => {
        const rules = { allowed: [everything ? '**' : 'R:/app'], forbidden: ['R:/app/sub'] }
        expect(outcome(`R:/${way}`, rules)).toBe('deny')
      }),
    )
  })

  it('any text gets a verdict, and more rules never allow what is forbidden', () => {
    const part = fc.constantFrom(
      '/',
      '..',
      '.',
      '~',
      '$UP',
      '${',
      '}',
      '%2e',
      '%',
      '\\',
      'file:',
      '//',
      'app',
      'etc',
      '{',
      ',',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const value = placed(`R:/${parts.join('')}`)
        if (outcome(value, { forbidden: ['R:/etc'] }) === 'deny')
          expect(outcome(value, { forbidden: ['R:/etc'], allowed: ['**'] })).toBe('deny')
      }),
      { numRuns: 500 },
    )
  })
})

describe('a relative path', () => {
  const from = (...folders: readonly string[]): PathContext => ({
    ...world,
    listBaseFolders: () => folders.map((folder) => join(root, folder)),
  })

  it('is forbidden if it is forbidden from any base folder of the server', () => {
    const rules = { forbidden: ['R:/data/secret'] }
    expect(judge('secret/keys', rules)).toBe(ALLOW)
    expect(judge('secret/keys', rules, from('data')).outcome).toBe('deny')
    expect(judge('keys', rules, from('home', 'data/secret')).outcome).toBe('deny')
    expect(judge('../data/secret/keys', rules, from('home')).outcome).toBe('deny')
    expect(judge('notes', rules, from('data'))).toBe(ALLOW)
    expect(judge('way/shadow', { forbidden: ['R:/etc'] }, from('data')).outcome).toBe('deny')
  })

  it('is allowed if it is allowed from every base folder of the server', () => {
    const rules = { allowed: ['R:/app', 'R:/data'] }
    expect(judge('x', rules, from('data'))).toBe(ALLOW)
    expect(judge('x', { allowed: ['R:/app'] }, from('data')).outcome).toBe('deny')
    expect(judge('x', { allowed: ['R:/data'] }, from('data')).outcome).toBe('deny')
    expect(judge('R:/app/x', { allowed: ['R:/app'] }, from('data'))).toBe(ALLOW)
    expect(judge('way/x', rules, from('data')).outcome).toBe('deny')
  })

  it('is refused with the advice to use an absolute path, without naming a folder', () => {
    const reason = (value: string): string | undefined => judge(value, { allowed: ['R:/app'] }, from('data')).reason
    expect(reason('x')).toBe(
      'The argument path with "x" is not in allowed_paths from every folder that the server may read it from; use an absolute path.',
    )
    expect(reason('R:/data/x')).toMatch(/ is not in allowed_paths\.$/)
  })

  it('is unattended if it is unattended from every base folder of the server', () => {
    const found = [{ where: 'path', value: 'x' }]
    const patterns = [join(root, 'app/**')]
    expect(compilePathMatcher(patterns, world)(found)).toBe(true)
    expect(compilePathMatcher(patterns, from('app/sub'))(found)).toBe(true)
    expect(compilePathMatcher(patterns, from('data'))(found)).toBe(false)
    expect(compilePathMatcher(patterns, world)(found, { roots: [`file://${root}/data`] })).toBe(false)
    expect(compilePathMatcher(patterns, world)(found, { roots: [`file://${root}/app/sub`] })).toBe(true)
  })

  it('is also resolved against the roots of the client', () => {
    const rules = compilePathRules({ forbiddenPaths: { value: [join(root, 'data/secret')], reason: '' } }, world)
    const outcomeWith = (...roots: readonly string[]): string =>
      rules([{ where: 'path', value: 'keys' }], { roots }).outcome
    expect(outcomeWith()).toBe('allow')
    expect(outcomeWith(`file://${root}/home`)).toBe('allow')
    expect(outcomeWith(`file://${root}/home`, `file://${root}/data/secret`)).toBe('deny')
    expect(outcomeWith(`${root}/data/secret`)).toBe('deny')
    expect(outcomeWith('../data/secret')).toBe('deny')
    expect(outcomeWith('\0')).toBe('deny')
  })

  it('applies to every base folder in forbidden_paths, and only to the working folder elsewhere', () => {
    expect(judge('R:/data/secret/keys', { forbidden: ['secret'] }, from('data')).outcome).toBe('deny')
    expect(judge('R:/data/secret/keys', { forbidden: ['./secret/**'] }, from('home', 'data')).outcome).toBe('deny')
    expect(judge('R:/data/secret/keys', { forbidden: ['secret'] })).toBe(ALLOW)
    expect(judge('R:/app/secret', { forbidden: ['secret'] }, from('data')).outcome).toBe('deny')
    expect(judge('R:/data/secret/keys', { allowed: ['secret'] }, from('data')).outcome).toBe('deny')
    expect(judge('R:/home/x', { forbidden: ['~/x'] }, from('data')).outcome).toBe('deny')
  })
})

describe('an absolute path for a server that joins it to its folder', () => {
  const joining = (): PathContext => ({ ...world, listBaseFolders: () => [join(root, 'data')] })

  it('is forbidden if the joined path is forbidden', () => {
    const rules = { forbidden: ['R:/data/secret'] }
    expect(judge('/secret/keys', rules, joining()).outcome).toBe('deny')
    expect(judge('/secret/new/one', rules, joining()).outcome).toBe('deny')
    expect(judge('/../data/secret/keys', rules, joining()).outcome).toBe('deny')
    expect(judge('/way/shadow', { forbidden: ['R:/etc'] }, joining()).outcome).toBe('deny')
    expect(judge('/sub/x', { forbidden: ['R:/app/sub'] }).outcome).toBe('deny')
    expect(judge('/secret/keys', rules)).toBe(ALLOW)
  })

  it('is not denied because of folders in which the joined path does not exist', () => {
    expect(judge('/srv/config', { forbidden: ['R:/data/**/config'] }, joining())).toBe(ALLOW)
    expect(judge('/', { forbidden: ['R:/data/*'] }, joining())).toBe(ALLOW)
  })

  it('is not forbidden only because a folder of the server is', () => {
    const inside = { ...world, listBaseFolders: () => [join(root, 'data/secret')] }
    symlinkSync(join(root, 'etc'), join(root, 'data/secret/srv'))
    expect(judge('/srv/nested/x', { forbidden: ['R:/data/secret'] }, inside)).toBe(ALLOW)
    expect(judge('/srv/nested/x', { forbidden: ['R:/etc/nested'] }, inside).outcome).toBe('deny')
    rmSync(join(root, 'data/secret/srv'))
  })
})

describe('a pattern that cannot be used', () => {
  it.each([
    ['', 'it is empty'],
    ['a\nb', 'it has a control character in it'],
    ['C:\\x', 'it is a Windows path; write one with slashes, from the root'],
    ['\\x', 'it is a Windows path; write one with slashes, from the root'],
    ['~bob/x', 'the home folder of another user is not known; write it out'],
  ])('is reported with the reason: %j', (pattern, problem) => {
    expect(checkPathPattern(pattern, world)).toBe(problem)
  })

  it('needs a folder that is not known on another machine', () => {
    expect(checkPathPattern('x', UNKNOWN_CONTEXT)).toBe(
      'it is relative, and the working folder of the server is not known',
    )
    expect(checkPathPattern('~/x', UNKNOWN_CONTEXT)).toBe('the home folder is not known')
    for (const pattern of ['/x', '**/x', '/a/{b,c}']) expect(checkPathPattern(pattern, UNKNOWN_CONTEXT)).toBeUndefined()
  })

  it('is named in refusals: the first one, shortened', () => {
    const long = `\${${'N'.repeat(300)}}`
    const { reason } = judge('R:/app/a', { forbidden: [long, '', 'R:/app'] })
    expect(reason).toMatch(
      /^The argument path with "[^"]+" is refused: forbidden_paths has "\$\{N{90,120}…": the variable/,
    )
    expect(judge(`R:/etc/${'x'.repeat(200)}`, IN_APP).reason).toMatch(/x…" is not in allowed_paths\.$/)
  })
})
