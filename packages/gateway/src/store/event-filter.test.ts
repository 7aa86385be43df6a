import { createHash } from 'node:crypto'
import { canonicalName, NameTable, type ToolRef } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createToolMatcher } from './event-filter.ts'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
const matches = (pattern: string, ref: ToolRef): boolean => createToolMatcher(pattern)(canonicalName(ref), ref.server)

const wireNames = (refs: readonly ToolRef[]): readonly string[] => {
  const table = new NameTable(refs, { naming: 'prefixed', digest })
  return refs.map((ref) => table.wireName(ref) ?? '')
}

const RUN: ToolRef = { server: 'my-db', tool: 'run__all.now' }

describe(`searching the records for a tool (${promise('GW-15')})`, () => {
  it.each([
    'mcp__my-db__run__all.now',
    'my-db/run__all.now',
    'my_db_run_all_now',
    'run__all.now',
    'mcp__my-db__*',
    'mcp__*__run*',
    'my-db/*',
    'my_db_*',
    '*_run_all_now',
    'run__*',
    'run__all?now',
    '*',
  ])('finds it by %s', (pattern) => {
    expect(matches(pattern, RUN)).toBe(true)
  })

  it.each(['mcp__my-db', 'my-db', 'my-db/', 'run', 'my_db', 'other/run__all.now', 'MY-DB/run__all.now', 'all.now', ''])(
    'does not find it by %j',
    (pattern) => {
      expect(matches(pattern, RUN)).toBe(false)
    },
  )

  it('uses the server of the record: a name is never parsed', () => {
    const found = (pattern: string): readonly boolean[] =>
      ['a', 'a__b'].map((server) => createToolMatcher(pattern)('mcp__a__b__c', server))
    expect(found('a/b__c')).toEqual([true, false])
    expect(found('a__b/c')).toEqual([false, true])
    expect(found('c')).toEqual([false, true])
  })

  it('finds an unknown tool, a prompt and a resource by the requested name', () => {
    expect(createToolMatcher('files_raed')('files_raed', '')).toBe(true)
    expect(createToolMatcher('a://*')('a://b', 'files')).toBe(true)
    expect(createToolMatcher('*')(undefined, 'files')).toBe(false)
    expect(createToolMatcher('*')(null, null)).toBe(false)
  })

  it.each([
    RUN,
    { server: '1st', tool: 'a' },
    { server: 'db', tool: '_init_' },
    { server: 'db', tool: 'what?' },
    { server: 'db', tool: 'long_'.repeat(20) },
    { server: 'db', tool: '日本語' },
  ])('finds $server/$tool by the name that clients use', (ref) => {
    const wire = wireNames([ref])[0] ?? ''
    expect(matches(wire, ref), wire).toBe(true)
    expect(matches(wire.replace(/^./, '?'), ref), wire).toBe(true)
    expect(matches(wire, { ...ref, server: 'other' })).toBe(false)
  })

  it('distinguishes tools with conflicting names by their hashes', () => {
    const refs = [
      { server: 'git', tool: 'hub_search' },
      { server: 'git-hub', tool: 'search' },
    ]
    const wires = wireNames(refs)
    expect(wires.map((wire) => refs.map((ref) => matches(wire, ref)))).toEqual([
      [true, false],
      [false, true],
    ])
  })
})
