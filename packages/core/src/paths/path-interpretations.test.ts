// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in paths are what is tested.

import { describe, expect, it } from 'vitest'
import { UNKNOWN_CONTEXT } from './path-context.test-kit.ts'
import { interpretPath, isFileUri, NO_ROOTS } from './path-interpretations.ts'

const WORLD = {
  ...UNKNOWN_CONTEXT,
  environment: (name: string) => (name === 'DATA' ? '/data' : undefined),
  userHome: '/home/ann',
  cwd: '/work',
}

function readings(value: string, world = WORLD): readonly string[] {
  const read = interpretPath(value, world, NO_ROOTS)
  if ('problem' in read) throw new Error(read.problem)
  return [...read.paths].sort()
}

const problem = (value: string, world = WORLD): string | undefined => {
  const read = interpretPath(value, world, NO_ROOTS)
  return 'problem' in read ? read.problem : undefined
}

describe('the paths that a value may be', () => {
  it.each<readonly [string, readonly string[]]>([
    ['/a/b.txt', ['/a/b.txt']],
    [`/a/it's "b"/c`, [`/a/it's "b"/c`]],
    ['a/b', ['/work/a/b']],
    ['', ['/work/']],
    ['/a/../b', ['/a/../b']],
    ['/a%20b', ['/a b', '/a%20b']],
    ['/a%252e', ['/a%252e', '/a%2e', '/a.']],
    ['/a%zz', ['/a%zz']],
    [' /a', ['/a', '/work/ /a']],
    ['/a ', ['/a', '/a ']],
    ['/a\\b', ['/a/b', '/a\\b']],
    ['/ﬁ', ['/fi', '/ﬁ']],
    ['/a{b,c}', ['/ab', '/ac', '/a{b,c}']],
    ['/a{b', ['/a{b']],
    ['/a{b}', ['/ab', '/a{b}']],
    ['/caf%c3%a9', ['/caf%c3%a9', '/café']],
    ['/$DATA/x', ['/$DATA/x', '//data/x']],
    ['~/x', ['/home/ann/x']],
    ['~', ['/home/ann']],
    ['~\\x', ['/home/ann/x', '/home/ann\\x']],
    ['$DATA/x', ['/data/x']],
    ['${DATA}', ['/data']],
    ['file:///a', ['/a']],
    ['file:/a', ['/a']],
    ['FILE://localhost/a', ['/a']],
    [' file:///a', ['/a']],
    ['file:///a?b#c', ['/a', '/a?b#c']],
    ['file:///a#b', ['/a', '/a#b']],
    ['https://example.com/a', []],
    ['http://x', []],
    ['HTTPS://x', []],
    ['ftp://x/y', ['/work/ftp:/x/y', '/work/ftp://x/y']],
    ['xhttp://a', ['/work/xhttp:/a', '/work/xhttp://a']],
  ])('%j', (value, paths) => {
    expect(readings(value)).toEqual([...paths].sort())
  })

  it.each(['~/../x', 'https://x/../../y', 'file:///a/../../b', '$DATA/../x'])(
    'go up from the working folder as well: %s',
    (value) => {
      expect(readings(value).some((path) => path.startsWith('/work/'))).toBe(true)
    },
  )

  it('are told apart by whether the value names them from the root', () => {
    expect(interpretPath(' /a', WORLD, NO_ROOTS)).toMatchObject({ absolute: ['/a'] })
    expect(interpretPath('a', WORLD, NO_ROOTS)).toMatchObject({ absolute: [] })
    expect(interpretPath('/a%2f', WORLD, NO_ROOTS)).toMatchObject({ absolute: ['/a%2f', '/a/'] })
  })

  it('are in every folder that the server may start from', () => {
    const world = { ...WORLD, listBaseFolders: () => ['/data', '/more'] }
    expect(readings('a', world)).toEqual(['/data/a', '/more/a', '/work/a'])
    expect(readings('/a', world)).toEqual(['/a'])
    const roots = ['file:///r', '/p', 'https://example.com']
    expect(interpretPath('a', WORLD, { roots })).toEqual({ paths: ['/work/a', '/r/a', '/p/a'], absolute: [] })
    expect(interpretPath('/a', WORLD, { roots: ['\0'] })).toEqual({ paths: ['/a'], absolute: ['/a'] })
  })
})

describe('a value that cannot be read', () => {
  it.each([
    [`/${'a'.repeat(4096)}`, 'it is longer than 4096 characters'],
    ['/a\0', 'it has a control character in it'],
    ['/a\n', 'it has a control character in it'],
    ['/a%00', 'it has a control character in it'],
    ['/\ud800', 'it is not well-formed Unicode'],
    ['C:/a', 'it names a Windows drive'],
    ['c:', 'it names a Windows drive'],
    ['\\\\host', 'it names a Windows host'],
    ['\\/host', 'it names a Windows host'],
    ['/\\host', 'it names a Windows host'],
    ['jar:file:///a', 'it has a file URI within another'],
    [' a:b:file:/x', 'it has a file URI within another'],
    ['/a%ff', 'its percent-encoding is no UTF-8'],
    ['/%c0%ae', 'its percent-encoding is no UTF-8'],
    ['file://host/a', 'its URI names a host or no absolute path; expected file:///…'],
    ['file:a', 'its URI names a host or no absolute path; expected file:///…'],
    ['file:////a', 'its URI names a host or no absolute path; expected file:///…'],
    ['file:///c:/a', 'it names a Windows drive'],
    ['file:///C|/a', 'it names a Windows drive'],
    ['~bob/x', 'it names the home folder of another user'],
    ['~bob~/x', 'it names the home folder of another user'],
    [`/app/{..,${'x,'.repeat(20)}y}/etc`, 'its braces stand for too much, or one is left open'],
    ['/app/{..,x}/etc/{', 'its braces stand for too much, or one is left open'],
    ['$(x)', 'it has a command for a shell in it'],
    ['$NOWHERE/x', 'the variable NOWHERE is not known'],
    [`/%${'25'.repeat(30)}2e`, 'it can be read in too many ways'],
  ])('says why: %j', (value, text) => {
    expect(problem(value)).toBe(text)
  })

  it.each(['/x/c:/y', 'file:///x/c:/y', '/a\\\\b', '/a/\\b', '/a~b'])(
    'is not one that only looks like it inside: %j',
    (value) => {
      expect(problem(value)).toBeUndefined()
    },
  )

  it('can be read in as many ways as are looked at', () => {
    const encoded = (times: number): string => `/%${'25'.repeat(times)}2e`
    expect(readings(encoded(22))).toHaveLength(24)
    expect(problem(encoded(23))).toBe('it can be read in too many ways')
  })

  it('is at most as long as Linux opens', () => {
    expect(problem(`/${'a'.repeat(4095)}`)).toBeUndefined()
  })

  it('is relative where no folder is known, or too many are', () => {
    expect(problem('a', { ...WORLD, cwd: undefined as never })).toBe(
      'it is relative, and the working folder of the server is not known; use an absolute path',
    )
    expect(problem('~/a', { ...WORLD, userHome: undefined as never })).toBe(
      'the home folder of the server is not known',
    )
    const folders = (count: number) => ({
      ...WORLD,
      listBaseFolders: () => Array.from({ length: count }, (_, at) => `/${at}`),
    })
    expect(problem('a', folders(63))).toBeUndefined()
    expect(problem('a', folders(64))).toBe('it is relative to too many folders; use an absolute path')
    expect(problem('/a', folders(64))).toBeUndefined()
  })

  it('is relative to a root that cannot be read', () => {
    expect(interpretPath('a', WORLD, { roots: ['file://host/a'] })).toEqual({
      problem: 'it is relative, and a root of the client cannot be judged; use an absolute path',
    })
  })
})

describe('a file URI', () => {
  it.each(['file:/a', 'FILE:a', ' file:x', 'jar:file:/a', 'url:file:///x', 'a+b:c.d-e:file:x', '\tjar:file:/a'])(
    'is known by its beginning: %j',
    (value) => {
      expect(isFileUri(value)).toBe(true)
    },
  )

  it.each(['files:/a', 'a file:/b', 'x/file:', ':file:', '1a:file:x', 'http://file', 'jarfile:x', ''])(
    'is none in %j',
    (value) => {
      expect(isFileUri(value)).toBe(false)
    },
  )
})
