import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { JsonObject } from '../json/json-value.ts'
import { inferPermission } from './permission-inference.ts'
import { RISK_TOKENS } from './risk-tokens.ts'

interface Trust {
  readonly trusted?: boolean
  readonly networkIsolated?: boolean
}

const infer = (name: string, rest: JsonObject = {}, { trusted = false, networkIsolated = false }: Trust = {}) =>
  inferPermission({ name, inputSchema: { type: 'object' }, ...rest }, { tokens: RISK_TOKENS, trusted, networkIsolated })

const describePermission = (...given: Parameters<typeof infer>): string => {
  const { permission, reason } = infer(...given)
  return `${permission.join(' ')} # ${reason}`
}

const hints = (annotations: JsonObject): JsonObject => ({ annotations })
const declares = (...permission: string[]): JsonObject => ({ _meta: { 'sallyport/permission': permission } })
const TRUSTED = { trusted: true }

describe('the permission of a tool', () => {
  it('has WRITE unless its name has only low words and there is no other sign', () => {
    expect(describePermission('search')).toBe('READ CONNECT # "search"; reaches the network')
    expect(describePermission('thing')).toBe('READ WRITE CONNECT # no known verb; reaches the network')
    expect(describePermission('get_or_create')).toBe('READ WRITE CONNECT # "create"; reaches the network')
    expect(describePermission('get_x', hints({ readOnlyHint: false }))).toBe(
      'READ WRITE CONNECT # "get", but readOnlyHint: false; reaches the network',
    )
    expect(describePermission('query', { inputSchema: { properties: { sql: {} } } })).toBe(
      'READ WRITE CONNECT # "query", but parameter "sql"; reaches the network',
    )
  })

  it('has no CONNECT if the server is isolated from the network, whatever it declares', () => {
    const isolated = { networkIsolated: true }
    expect(describePermission('search', {}, isolated)).toBe('READ # "search"; isolated from the network')
    expect(infer('search', hints({ openWorldHint: true }), isolated).permission).toEqual(['READ'])
    expect(infer('search', declares('CONNECT'), { ...isolated, ...TRUSTED }).permission).toEqual(['READ'])
  })
})

describe(`${promise('GOV-8')} what a server declares about its tools`, () => {
  it('removes no permission unless the server is trusted', () => {
    const harmless = { ...hints({ readOnlyHint: true, openWorldHint: false }), ...declares('READ') }
    expect(infer('delete_x', harmless).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
    expect(infer('thing', harmless).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
  })

  it('adds a permission even if the server is not trusted', () => {
    expect(infer('get_x', declares('WRITE')).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
    expect(infer('get_x', hints({ destructiveHint: true })).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
  })

  it('is accepted from a trusted server', () => {
    expect(describePermission('thing', hints({ readOnlyHint: true }), TRUSTED)).toBe(
      'READ CONNECT # readOnlyHint; reaches the network',
    )
    expect(describePermission('thing', hints({ openWorldHint: false }), TRUSTED)).toBe(
      'READ WRITE # no known verb; openWorldHint: false',
    )
    expect(describePermission('delete_x', declares('READ'), TRUSTED)).toBe(
      'READ # declared READ; declared without CONNECT',
    )
    expect(describePermission('get_x', declares('WRITE', 'CONNECT'), TRUSTED)).toBe(
      'READ WRITE CONNECT # declared WRITE, CONNECT; reaches the network',
    )
  })

  it('counts with its worse part if it contradicts itself', () => {
    expect(infer('get_x', hints({ readOnlyHint: true, destructiveHint: true }), TRUSTED).permission).toContain('WRITE')
    expect(infer('thing', hints({ readOnlyHint: 'true', openWorldHint: 'false' }), TRUSTED).permission).toEqual([
      'READ',
      'WRITE',
      'CONNECT',
    ])
    const unknown = { ...declares('READ', 'EXECUTE') }
    expect(infer('thing', unknown, TRUSTED).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
  })

  it('can only add permissions if the server is not trusted', () => {
    const name = fc.constantFrom('get_x', 'thing', 'delete_x', 'list_posts')
    const annotations = fc.dictionary(
      fc.constantFrom('readOnlyHint', 'destructiveHint', 'openWorldHint', 'title'),
      fc.constantFrom(true, false, null, 'Get it', 'Delete it'),
    )
    const declared = fc.subarray(['READ', 'WRITE', 'CONNECT', 'EXECUTE'])
    fc.assert(
      fc.property(name, annotations, declared, (tool, given, permission) => {
        const declared = infer(tool, { ...hints(given), ...declares(...permission) }).permission
        expect(declared).toEqual(expect.arrayContaining([...infer(tool).permission]))
      }),
    )
  })
})
