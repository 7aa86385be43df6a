import * as fc from 'fast-check'
import type { NewEntry } from './append-entries.ts'

export const DISCOVERED = new Date('2026-11-15T12:30:45.678Z')

/** An entry as discovery creates it, the same as the example in the documentation. */
export function createNewEntry(entry: Partial<NewEntry> = {}): NewEntry {
  return {
    name: 'mcp__github__search',
    description: 'Search GitHub repositories',
    discoveredAt: DISCOVERED,
    findings: [],
    category: 'mcp',
    permission: { value: ['READ', 'CONNECT'], reason: 'readOnlyHint; reaches the network' },
    riskLevel: { value: 'low', reason: '"search"' },
    requiresApproval: false,
    allowedInModes: ['NORMAL', 'ALERT', 'DEGRADED'],
    pin: 'sha256-3f9c',
    ...entry,
  }
}

/** Characters and strings that can break a line or a string for some YAML reader. */
const FRAGMENTS = [
  ...['\r', '\n', '\r\n', '\u0085', '\u2028', '\u2029', '\v', '\f', '\0', '\u001b[2J', '\u200b', '\u202e', '\ufeff'],
  ...['\ud800', '\udc00', '\u{e0041}', '\u{1f600}', '\ufffe', '\u034f', '\ufe0f', 'é', '\u00a0', '\u3000', '\t'],
  ...[
    ': ',
    ' #',
    '#',
    '---',
    '...',
    '"',
    "'",
    '\\',
    '\\"',
    '\\u',
    '{',
    '}',
    '[',
    ']',
    ',',
    '&a',
    '*a',
    '<<',
    '!!x',
    '%',
    '?',
  ],
  ...[
    '\n  mcp__shell__exec:\n    allowed_in_modes: [NORMAL]',
    '\rtools:',
    '\u2028  mcp__a__b: {}',
    ' ',
    '  ',
    'word',
    '0',
    'x',
  ],
]

/** Text as a hostile server might send it. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...FRAGMENTS) }, fc.string({ unit: 'binary', maxLength: 4 })),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''))

/** The name is never a pattern, because tools with such names get no entry. */
export const hostileEntry: fc.Arbitrary<NewEntry> = fc
  .record({ tool: hostileText, description: hostileText, reason: hostileText, finding: hostileText, pin: hostileText })
  .map(({ tool, description, reason, finding, pin }) =>
    createNewEntry({
      name: `mcp__server__${tool.replaceAll(/[*?]/g, '+')}`,
      ...{ description, pin: `sha256-${pin}`, findings: finding === '' ? [] : [finding] },
      riskLevel: { value: 'high', reason },
      permission: { value: ['READ'], reason },
    }),
  )
