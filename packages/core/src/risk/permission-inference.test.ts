import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { JsonObject } from '../json/json-value.ts'
import { inferPermission } from './permission-inference.ts'
import { RISK_TOKENS } from './risk-tokens.ts'

interface Place {
  readonly trusted?: boolean
  readonly networkIsolated?: boolean
}

const infer = (name: string, rest: JsonObject = {}, { trusted = false, networkIsolated = false }: Place = {}) =>
  inferPermission({ name, inputSchema: { type: 'object' }, ...rest }, { tokens: RISK_TOKENS, trusted, networkIsolated })

const told = (...given: Parameters<typeof infer>): string => {
  const { permission, reason } = infer(...given)
  return `${permission.join(' ')} # ${reason}`
}

const hints = (annotations: JsonObject): JsonObject => ({ annotations })
const declares = (...permission: string[]): JsonObject => ({ _meta: { 'sallyport/permission': permission } })
const TRUSTED = { trusted: true }

describe('the permission of a tool', () => {
  it('has WRITE unless its name has low words only and nothing else speaks against it', () => {
    expect(told('search')).toBe('READ CONNECT # "search"; reaches the network')
    expect(told('thing')).toBe('READ WRITE CONNECT # no telling word; reaches the network')
    expect(told('get_or_create')).toBe('READ WRITE CONNECT # "create"; reaches the network')
    expect(told('get_x', hints({ readOnlyHint: false }))).toBe(
      'READ WRITE CONNECT # "get", but readOnlyHint: false; reaches the network',
    )
    expect(told('query', { inputSchema: { properties: { sql: {} } } })).toBe(
      'READ WRITE CONNECT # "query", but parameter "sql"; reaches the network',
    )
  })

  it('has no CONNECT where the server is isolated from the network, whatever it declares', () => {
    const isolated = { networkIsolated: true }
    expect(told('search', {}, isolated)).toBe('READ # "search"; isolated from the network')
    expect(infer('search', hints({ openWorldHint: true }), isolated).permission).toEqual(['READ'])
    expect(infer('search', declares('CONNECT'), { ...isolated, ...TRUSTED }).permission).toEqual(['READ'])
  })
})

describe(`${promise('GOV-8')} what a server says of its tools`, () => {
  it('takes nothing away unless the server is trusted', () => {
    const harmless = { ...hints({ readOnlyHint: true, openWorldHint: false }), ...declares('READ') }
    expect(infer('delete_x', harmless).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
    expect(infer('thing', harmless).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
  })

  it('adds, also where the server is not trusted', () => {
    expect(infer('get_x', declares('WRITE')).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
    expect(infer('get_x', hints({ destructiveHint: true })).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
  })

  it('is believed of a trusted one', () => {
    expect(told('thing', hints({ readOnlyHint: true }), TRUSTED)).toBe(
      'READ CONNECT # readOnlyHint; reaches the network',
    )
    expect(told('thing', hints({ openWorldHint: false }), TRUSTED)).toBe(
      'READ WRITE # no telling word; openWorldHint: false',
    )
    expect(told('delete_x', declares('READ'), TRUSTED)).toBe('READ # declared READ; declared without CONNECT')
    expect(told('get_x', declares('WRITE', 'CONNECT'), TRUSTED)).toBe(
      'READ WRITE CONNECT # declared WRITE, CONNECT; reaches the network',
    )
  })

  it('is taken at its worse where it contradicts itself', () => {
    expect(infer('get_x', hints({ readOnlyHint: true, destructiveHint: true }), TRUSTED).permission).toContain('WRITE')
    expect(infer('thing', hints({ readOnlyHint: 'true', openWorldHint: 'false' }), TRUSTED).permission).toEqual([
      'READ',
      'WRITE',
      'CONNECT',
    ])
    const unknown = { ...declares('READ', 'EXECUTE') }
    expect(infer('thing', unknown, TRUSTED).permission).toEqual(['READ', 'WRITE', 'CONNECT'])
  })

  it('can only add where the server is not trusted, whatever it is', () => {
    const name = fc.constantFrom('get_x', 'thing', 'delete_x', 'list_posts')
    const annotations = fc.dictionary(
      fc.constantFrom('readOnlyHint', 'destructiveHint', 'openWorldHint', 'title'),
      fc.constantFrom(true, false, null, 'Get it', 'Delete it'),
    )
    const declared = fc.subarray(['READ', 'WRITE', 'CONNECT', 'EXECUTE'])
    fc.assert(
      fc.property(name, annotations, declared, (tool, given, permission) => {
        const said = infer(tool, { ...hints(given), ...declares(...permission) }).permission
        expect(said).toEqual(expect.arrayContaining([...infer(tool).permission]))
      }),
    )
  })
})
