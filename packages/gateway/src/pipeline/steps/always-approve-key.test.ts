import { type PolicyFields, resolvePolicy, SallyportError, type ToolEntry } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS } from '../../config/config.ts'
import { findAlwaysApproveKey } from './always-approve-key.ts'

const entry = (key: string, fields: PolicyFields, line = 7): ToolEntry => ({ key, line, fields, lines: {} })

function decide(entries: readonly ToolEntry[], categories: Record<string, object> = {}, mode = 'NORMAL' as const) {
  const policy = resolvePolicy({
    entries: entries.map(({ fields, line }) => ({ fields, locateRule: () => ({ file: 'tools.yaml', line }) })),
    patterns: [],
    inferred: {
      category: 'mcp',
      risk: { value: 'high', reason: '' },
      permission: { value: ['READ', 'WRITE'], reason: '' },
    },
    defaults: DEFAULT_SETTINGS.governance.defaults,
    enforce: true,
  })
  const known = new Map(Object.entries(categories).map(([name, fields]) => [name, { line: 3, ...fields }]))
  const state = { mode, policies: new Map(), categories: known, file: 'tools.yaml' }
  const own = entries.filter(({ key }) => !key.includes('*'))
  const outcome = findAlwaysApproveKey({ policy, entries, own, state })
  return outcome instanceof SallyportError ? [outcome.code, outcome.message] : outcome
}

const refusal = (text: string) => ['ALWAYS_REFUSED', expect.stringContaining(text)]

describe('the entry that would stop approval requests for a tool', () => {
  it('is its own entry, under whichever name it is written', () => {
    expect(decide([entry('notes/delete', { requiresApproval: true })])).toBe('notes/delete')
    expect(decide([entry('mcp__notes__delete', {})])).toBe('mcp__notes__delete')
    expect(decide([entry('delete', {}), entry('notes/delete', { requiresApproval: true })])).toBe('notes/delete')
  })

  it('does not exist if an entry for several tools requires approval, or two entries do', () => {
    expect(decide([entry('mcp__notes__delete', {}), entry('mcp__notes__*', { requiresApproval: true }, 9)])).toEqual(
      refusal('"mcp__notes__*" in line 9'),
    )
    const both = [entry('delete', { requiresApproval: true }), entry('notes/delete', { requiresApproval: true }, 9)]
    expect(decide(both)).toEqual(refusal('line 9'))
    expect(decide([])).toEqual(refusal('no entry'))
  })

  it('does not exist if the mode or the category requires approval', () => {
    const own = entry('notes/delete', { requiresApproval: true, requiresApprovalInModes: ['NORMAL'] })
    expect(decide([own])).toEqual(refusal('while the mode is NORMAL'))
    const ofCategory = { mcp: { requiresApprovalInModes: ['NORMAL'] } }
    expect(decide([entry('notes/delete', {})], ofCategory)).toEqual(refusal('category mcp'))
  })
})
