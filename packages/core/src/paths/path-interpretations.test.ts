// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in paths are what is tested.

import { describe, expect, it } from 'vitest'
import { UNKNOWN_CONTEXT } from './path-context.test-kit.ts'
import { interpretPath, isFileUri, NO_ROOTS } from './path-interpretations.ts'

const CONTEXT = {
  ...UNKNOWN_CONTEXT,
  environment: (name: string) => (name === 'DATA' ? '/data' : undefined),
  userHome: '/home/ann',
  cwd: '/work',
}

function pathsOf(value: string, context = CONTEXT): readonly string[] {
  const read = interpretPath(value, context, NO_ROOTS)
  if ('problem' in read) throw new Error(read.problem)
  return [...read.paths].sort()
}

const problem = (value: string, context = CONTEXT): string | undefined => {
  const read = interpretPath(value, context, NO_ROOTS)
  return 'problem' in read ? read.problem : undefined
}

describe('the possible paths of a value', () => {
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
    expect(pathsOf(value)).toEqual([...paths].sort())
  })

  it.each(['~/../x', 'https://x/../../y', 'file:///a/../../b', '$DATA/../x'])(
    'also go up from the working folder: %s',
    (value) => {
      expect(pathsOf(value).some((path) => path.startsWith('/work/'))).toBe(true)
    },
  )

  it('are marked as absolute if the value names them so', () => {
    expect(interpretPath(' /a', CONTEXT, NO_ROOTS)).toMatchObject({ absolute: ['/a'] })
    expect(interpretPath('a', CONTEXT, NO_ROOTS)).toMatchObject({ absolute: [] })
    expect(interpretPath('/a%2f', CONTEXT, NO_ROOTS)).toMatchObject({ absolute: ['/a%2f', '/a/'] })
  })

  it('are resolved against every base folder of the server', () => {
    const context = { ...CONTEXT, listBaseFolders: () => ['/data', '/more'] }
    expect(pathsOf('a', context)).toEqual(['/data/a', '/more/a', '/work/a'])
    expect(pathsOf('/a', context)).toEqual(['/a'])
    const roots = ['file:///r', '/p', 'https://example.com']
    expect(interpretPath('a', CONTEXT, { roots })).toEqual({ paths: ['/work/a', '/r/a', '/p/a'], absolute: [] })
    expect(interpretPath('/a', CONTEXT, { roots: ['\0'] })).toEqual({ paths: ['/a'], absolute: ['/a'] })
  })
})

describe('a value that cannot be resolved', () => {
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
    ['jar:file:///a', 'it has a file URI inside another URI'],
    [' a:b:file:/x', 'it has a file URI inside another URI'],
    ['/a%ff', 'its percent-encoding is not valid UTF-8'],
    ['/%c0%ae', 'its percent-encoding is not valid UTF-8'],
    ['file://host/a', 'its URI names a host, or its path is not absolute; expected file:///…'],
    ['file:a', 'its URI names a host, or its path is not absolute; expected file:///…'],
    ['file:////a', 'its URI names a host, or its path is not absolute; expected file:///…'],
    ['file:///c:/a', 'it names a Windows drive'],
    ['file:///C|/a', 'it names a Windows drive'],
    ['~bob/x', 'it names the home folder of another user'],
    ['~bob~/x', 'it names the home folder of another user'],
    [`/app/{..,${'x,'.repeat(20)}y}/etc`, 'its braces have too many alternatives, or one is not closed'],
    ['/app/{..,x}/etc/{', 'its braces have too many alternatives, or one is not closed'],
    ['$(x)', 'it contains a shell command'],
    ['$NOWHERE/x', 'the variable NOWHERE is not known'],
    [`/%${'25'.repeat(30)}2e`, 'it can be read in too many ways'],
  ])('is reported with the reason: %j', (value, text) => {
    expect(problem(value)).toBe(text)
  })

  it.each(['/x/c:/y', 'file:///x/c:/y', '/a\\\\b', '/a/\\b', '/a~b'])(
    'is not one that has a similar part inside: %j',
    (value) => {
      expect(problem(value)).toBeUndefined()
    },
  )

  it('has too many interpretations', () => {
    const encoded = (times: number): string => `/%${'25'.repeat(times)}2e`
    expect(pathsOf(encoded(22))).toHaveLength(24)
    expect(problem(encoded(23))).toBe('it can be read in too many ways')
  })

  it('is not one of the maximum length of Linux', () => {
    expect(problem(`/${'a'.repeat(4095)}`)).toBeUndefined()
  })

  it('is relative, and no base folder or too many are known', () => {
    expect(problem('a', { ...CONTEXT, cwd: undefined as never })).toBe(
      'it is relative, and the working folder of the server is not known; use an absolute path',
    )
    expect(problem('~/a', { ...CONTEXT, userHome: undefined as never })).toBe(
      'the home folder of the server is not known',
    )
    const folders = (count: number) => ({
      ...CONTEXT,
      listBaseFolders: () => Array.from({ length: count }, (_, at) => `/${at}`),
    })
    expect(problem('a', folders(63))).toBeUndefined()
    expect(problem('a', folders(64))).toBe('it is relative to too many folders; use an absolute path')
    expect(problem('/a', folders(64))).toBeUndefined()
  })

  it('is relative to a root that cannot be resolved', () => {
    expect(interpretPath('a', CONTEXT, { roots: ['file://host/a'] })).toEqual({
      problem: 'it is relative, and a root of the client cannot be resolved; use an absolute path',
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
