import { type JsonObject, toRecordedArguments } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { findArgumentGaps } from './argument-gaps.ts'

const KEY = `AKIA${'IOSFODNN7EXAMPLF'}`
const gapsOf = (args: JsonObject, how: 'none' | 'shape' | 'redacted' | 'full' = 'redacted') =>
  findArgumentGaps(toRecordedArguments(args, how))

const WHOLE = { values: undefined, isOpen: false, hidSecret: false }

describe('the gaps in recorded arguments', () => {
  it('are empty if everything was recorded', () => {
    expect(gapsOf({ path: '/tmp/a', limit: 3, deep: [{ a: null, b: true }] })).toEqual(WHOLE)
    expect(gapsOf({})).toEqual(WHOLE)
    expect(gapsOf({}, 'shape')).toEqual(WHOLE)
    expect(gapsOf({ text: 'x'.repeat(5_000) }, 'full')).toEqual(WHOLE)
  })

  it('cover everything if nothing was recorded, or only types', () => {
    for (const how of ['none', 'shape'] as const)
      expect(gapsOf({ path: '/tmp/a', limit: 3, none: null }, how)).toMatchObject({ isOpen: true })
  })

  it('are the values that were hidden or cut, at their positions', () => {
    const cut = 'word '.repeat(300)
    expect(gapsOf({ path: '/tmp/a', text: cut, list: ['a', { token: 'abc' }] })).toEqual({
      values: {
        text: expect.stringMatching(/^word .*characters in all\]$/),
        list: [null, { token: expect.any(String) }],
      },
      isOpen: false,
      hidSecret: false,
    })
    expect(gapsOf({ text: `a ${KEY} b` })).toMatchObject({ hidSecret: true, values: { text: expect.any(String) } })
  })

  it('cover everything if names are missing or were changed', () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`name${at}`, 'a value']))
    expect(gapsOf(many)).toMatchObject({ isOpen: true })
    expect(gapsOf({ [KEY]: 'x' })).toMatchObject({ isOpen: true })
    expect(gapsOf({ ['n'.repeat(200)]: 'x' })).toMatchObject({ isOpen: true })
  })
})
