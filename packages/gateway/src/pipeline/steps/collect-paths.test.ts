import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { Offer } from '../../catalog/catalog.ts'
import { collectPaths } from './collect-paths.ts'

function offerOf(kind: Offer['kind'], name: string): Offer {
  return { kind, server: 's', name, wire: name, recordName: name, original: {}, definition: {}, isMcp: true }
}

const valuesOf = (offer: Offer, params: JsonObject): readonly unknown[] =>
  collectPaths({ offer, params }).map((found) => ('value' in found ? found.value : found.problem))

describe('the paths of a call', () => {
  const template = offerOf('template', 'file://{+path}')

  it.each<[string, JsonObject, string]>([
    ['file://{+path}', { path: '/etc' }, 'file:///etc'],
    ['file:///{dir}/{name}', { dir: 'a', name: '../b' }, 'file:///a/../b'],
    ['file://{/dir*}', { dir: '/etc' }, 'file:///etc'],
    ['file:///{dir:3}', { dir: 'abcdef' }, 'file:///abcdef'],
    ['file:///{a,b}', { a: 'x', b: 'y' }, 'file:///x/y'],
    ['{+uri}', { uri: 'file:///etc/passwd' }, 'file:///etc/passwd'],
    ['file:///a/{missing}', {}, 'file:///a/'],
    ['file:///{__proto__}{toString}', {}, 'file:///'],
  ])('for a completion are those of %s filled with %j', (uri, known, expected) => {
    const params = {
      ref: { type: 'ref/resource', uri },
      argument: { name: 'x', value: '' },
      context: { arguments: known },
    }
    expect(valuesOf(template, params)).toEqual([expected])
  })

  it('use the value that is being completed instead of one from the context', () => {
    const params = {
      ref: { type: 'ref/resource', uri: 'file://{+path}' },
      argument: { name: 'path', value: '/etc/' },
      context: { arguments: { path: '/home/a' } },
    }
    expect(valuesOf(template, params)).toEqual(['file:///etc/'])
  })

  it('are empty if nothing names a file', () => {
    expect(valuesOf(offerOf('resource', 'demo://a'), { uri: 'demo://a' })).toEqual([])
    expect(valuesOf(offerOf('question', 'sampling/createMessage'), { path: '/etc/passwd' })).toEqual([])
    expect(valuesOf(offerOf('prompt', 'p'), { arguments: { topic: 'x' } })).toEqual([])
    expect(valuesOf(template, { ref: 1, argument: [], context: 'x' })).toEqual(['file://{+path}'])
  })

  it('for a prompt are found by the names of its arguments, or by path_arguments', () => {
    const prompt = offerOf('prompt', 'p')
    const params = { arguments: { file: '/a', topic: '/b' } }
    expect(valuesOf(prompt, params)).toEqual(['/a'])
    expect(collectPaths({ offer: prompt, params }, ['topic'])).toMatchObject([{ value: '/b' }])
  })
})
