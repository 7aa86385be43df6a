import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../json/json-value.ts'
import { findPaths, findUriPaths } from './path-arguments.ts'

const locationsOf = (args: JsonObject, schema?: Json, pathArguments?: readonly string[]): readonly string[] =>
  findPaths(args, schema, pathArguments).map(({ where }) => where)

const textSchema = (properties: JsonObject): Json => ({ type: 'object', properties })

describe('finding paths by name', () => {
  it.each([
    [
      'path',
      'file',
      'filename',
      'filepath',
      'dir',
      'directory',
      'folder',
      'cwd',
      'source',
      'destination',
      'root',
      'target',
    ],
    ['src', 'dst', 'dest', 'paths', 'files', 'directories', 'folders', 'Path', 'PATH', 'ｐａｔｈ'],
    [
      'filePath',
      'file_path',
      'file-path',
      'FilePath',
      'outputDir',
      'HTMLFile',
      'old_path',
      'fileName',
      'path2',
      'outfile',
    ],
    ['subdir', 'pathToFile', 'files_to_delete', 'fileUri', 'log_file', 'rootDir', 'data_source', 'working_directory'],
  ])('treats %s and similar names as paths', (...names) => {
    for (const name of names) expect([name, locationsOf({ [name]: 'x' })]).toEqual([name, [name]])
  })

  it.each([
    ['content', 'file_content', 'fileContents', 'file_size', 'profile', 'pathology', 'direct', 'filesystem', 'xpath'],
    ['source_language', 'targetBranch', 'rooted', 'filter', 'max_file_size', 'file_type', 'path_separator', 'dirty'],
  ])('does not treat %s and similar names as paths', (...names) => {
    for (const name of names) expect([name, locationsOf({ [name]: 'x' })]).toEqual([name, []])
  })

  it('checks the value if the name alone is not clear', () => {
    expect(locationsOf({ from: '/a', to: '~/b', input: 'a/b', output: '..\\x', location: './x' })).toHaveLength(5)
    expect(locationsOf({ from: 'alice', to: 'bob and/or carol', input: 'text', output: 'x'.repeat(5000) })).toEqual([])
  })

  it('searches objects and lists, and reports where it found a path', () => {
    const args = { edits: [{ path: 'a' }, { file: { path: 'b' } }], opts: { in: { cwd: 'c' } }, files: ['d', ['e']] }
    expect(locationsOf(args)).toEqual(['edits[0].path', 'edits[1].file.path', 'opts.in.cwd', 'files[0]', 'files[1][0]'])
  })

  it('does not treat the keys of a map as paths, but reports a map where a path is expected', () => {
    expect(locationsOf({ labels: { '/etc/shadow': 'x' } })).toEqual([])
    expect(findPaths({ files: { '/etc/shadow': 'x' } }, undefined)).toEqual([
      { where: 'files', problem: 'it is an object, and a path must be a string' },
    ])
    expect(findPaths({ file: { path: 'a', '/etc/shadow': 'x' } }, undefined)).toContainEqual({
      where: 'file',
      problem: 'it is an object, and a path must be a string',
    })
  })

  it('reports a number where a path is expected, but not a flag or null', () => {
    expect(findPaths({ path: 5 }, undefined)).toEqual([
      { where: 'path', problem: 'it is a number, and a path must be a string' },
    ])
    expect(locationsOf({ file: true, dir: null, max_files: 10, source: 3, target: { id: 1 } })).toEqual([])
  })
})

describe('finding paths by schema', () => {
  it.each(['uri-reference', 'uri', 'path', 'file-path', 'directory-path'])(
    'treats the format %s as a path',
    (format) => {
      expect(locationsOf({ x: 'a' }, textSchema({ x: { type: 'string', format } }))).toEqual(['x'])
    },
  )

  it('follows nested members, items, alternatives and local references', () => {
    const path = { type: 'string', format: 'path' }
    const schema = {
      $defs: { Edit: { properties: { what: path } } },
      properties: {
        a: { properties: { b: path } },
        c: { items: path },
        d: { anyOf: [{ type: 'null' }, path] },
        e: { items: { $ref: '#/$defs/Edit' } },
        f: { additionalProperties: path },
        g: { prefixItems: [path] },
      },
    }
    const args = { a: { b: '1' }, c: ['2'], d: '3', e: [{ what: '4' }], f: { any: '5' }, g: ['6'] }
    expect(locationsOf(args, schema)).toEqual(['a.b', 'c[0]', 'd', 'e[0].what', 'f.any', 'g[0]'])
  })

  it('survives a hostile schema', () => {
    const loop: JsonObject = {
      $ref: '#',
      anyOf: [{ $ref: '#/properties/x' }],
      properties: { x: { $ref: '#/properties/x' } },
    }
    expect(locationsOf({ x: { x: 'y' } }, loop)).toEqual([])
    expect(locationsOf(JSON.parse('{"x":"y","__proto__":"z"}'), { properties: 5, items: 'x', anyOf: {} })).toEqual([])
    expect(locationsOf({ constructor: 'x' }, textSchema({}))).toEqual([])
  })
})

describe('finding paths by value', () => {
  it.each(['file:///x', 'FILE:/x', ' file:x', 'jar:file:///x'])('treats %s as a path in any argument', (value) => {
    expect(locationsOf({ note: [{ any: value }] })).toEqual(['note[0].any'])
    expect(locationsOf({ note: value }, undefined, ['other'])).toEqual(['note'])
  })

  it('treats only file URIs of resources as paths', () => {
    expect(findUriPaths('file:///x')).toEqual([{ where: 'uri', value: 'file:///x' }])
    expect(findUriPaths('memo://file:x')).toEqual([])
  })
})

describe('declared path arguments', () => {
  it('are the only ones that are found', () => {
    const args = { path: 'no', script: { at: 'yes' }, edits: [{ what: 'yes' }, { what: 'yes' }], all: ['yes'] }
    expect(locationsOf(args, undefined, ['script.at', 'edits.*.what', 'all'])).toEqual([
      'script.at',
      'edits[0].what',
      'edits[1].what',
      'all[0]',
    ])
  })

  it('are found under a key that some servers treat as the same', () => {
    expect(locationsOf({ Script: 'x' }, undefined, ['script'])).toEqual(['Script'])
    expect(locationsOf({ 'a.b': 'x' }, undefined, ['a.b'])).toEqual(['a.b'])
  })

  it('are reported if they are not strings', () => {
    for (const value of [1, true, {}, { x: 'y' }])
      expect(findPaths({ at: value }, undefined, ['at'])).toEqual([{ where: 'at', problem: expect.any(String) }])
  })
})

describe('finding paths in hostile arguments', () => {
  it('stops at a thousand paths', () => {
    const found = findPaths({ paths: Array.from({ length: 100_000 }, () => 'x') }, undefined)
    expect(found).toEqual([{ where: 'paths[1000]', problem: 'there are over 1000 paths' }])
  })

  it('stops at long paths and at very many arguments', () => {
    const long = findPaths({ paths: Array.from({ length: 100 }, () => 'x'.repeat(4000)) }, undefined)
    expect(long).toEqual([{ where: 'paths[32]', problem: 'the paths are over 131072 characters long together' }])
    const members = Object.fromEntries(Array.from({ length: 100_001 }, (_, at) => [`k${at}`, 0]))
    expect(findPaths({ members, path: 'x' }, undefined)).toEqual([
      { where: 'members', problem: 'there are over 100000 arguments' },
    ])
  })

  it('does not go deeper than messages can be nested', () => {
    let args: Json = 'x'
    for (let depth = 0; depth < 5000; depth++) args = depth % 2 ? { a: args } : [args]
    expect(findPaths(args as JsonObject, undefined)).toEqual([
      { where: expect.any(String), problem: 'it is nested over 128 levels deep' },
    ])
  })

  it('escapes and shortens keys in reported locations', () => {
    expect(locationsOf({ 'file\u001b[31m\npath': 'x' })).toEqual(['file\\u001b[31m\\u000apath'])
    expect(locationsOf({ [`${'x'.repeat(9999)}_path`]: 'x' })[0]?.length).toBeLessThan(300)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (args, schema) => {
        expect(Array.isArray(findPaths(args as JsonObject, schema as Json))).toBe(true)
      }),
    )
  })
})
