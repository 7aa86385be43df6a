import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shouldIsolateTool } from './isolation-policy.ts'
import { compileSelection } from './selection.ts'

describe('whether a tool is isolated', () => {
  it('depends on the server: all tools, the listed ones, or none', () => {
    expect(shouldIsolateTool({ isolated: true }, 'query')).toBe(true)
    expect(shouldIsolateTool({ isolatedTools: ['query'] }, 'query')).toBe(true)
    expect(shouldIsolateTool({ isolatedTools: ['query'] }, 'schema')).toBe(false)
    expect(shouldIsolateTool({}, 'query')).toBe(false)
    expect(shouldIsolateTool(undefined, 'query')).toBe(false)
  })

  it('prefers `isolated: true` to the list, and ignores `isolated: false`', () => {
    expect(shouldIsolateTool({ isolated: true, isolatedTools: [] }, 'query')).toBe(true)
    expect(shouldIsolateTool({ isolated: false, isolatedTools: ['query'] }, 'query')).toBe(true)
  })

  it('supports the same patterns as includeTools', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[ab*?]{0,6}$/))
    fc.assert(
      fc.property(fc.array(text, { maxLength: 3 }), text, (isolatedTools, tool) => {
        expect(shouldIsolateTool({ isolatedTools }, tool)).toBe(compileSelection(isolatedTools, [])(tool))
      }),
    )
    expect(shouldIsolateTool({ isolatedTools: ['read_*'] }, 'read_file')).toBe(true)
    expect(shouldIsolateTool({ isolatedTools: ['mcp__my__db__run__all'] }, 'run__all')).toBe(false)
    expect(shouldIsolateTool({ isolatedTools: ['constructor'] }, 'toString')).toBe(false)
  })
})
