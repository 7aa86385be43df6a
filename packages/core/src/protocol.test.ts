import { describe, expect, it } from 'vitest'
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS, parseTraceId } from './protocol.ts'

const ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('the trace id of a traceparent', () => {
  it('is read from a valid one', () => {
    expect(parseTraceId(`00-${ID}-${SPAN}-01`)).toBe(ID)
  })

  it('is read from future versions, whatever they add', () => {
    expect(parseTraceId(`cc-${ID}-${SPAN}-01-what-ever`)).toBe(ID)
    expect(parseTraceId(`cc-${ID}-${SPAN}-01`)).toBe(ID)
  })

  it('is not read from anything else', () => {
    const wrong = [
      `ff-${ID}-${SPAN}-01`,
      `00-${ID}-${SPAN}-01-more`,
      `cc-${ID}-${SPAN}-01more`,
      `00-${'0'.repeat(32)}-${SPAN}-01`,
      `00-${ID}-${'0'.repeat(16)}-01`,
      `00-${ID.toUpperCase()}-${SPAN}-01`,
      `00-${ID}-${SPAN}-01\n`,
      ` 00-${ID}-${SPAN}-01`,
      ID,
      '',
      undefined,
      7,
      { toString: () => `00-${ID}-${SPAN}-01` },
    ]
    for (const value of wrong) expect(parseTraceId(value), JSON.stringify(value)).toBeUndefined()
  })
})

describe('the legacy versions', () => {
  it('are sorted newest first', () => {
    expect(LEGACY_VERSIONS[0]).toBe(LATEST_LEGACY_VERSION)
    expect([...LEGACY_VERSIONS].sort().reverse()).toEqual(LEGACY_VERSIONS)
  })
})
