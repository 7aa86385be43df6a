import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { getSelectedMcpTools } from '../sections/narrow-principal.ts'
import { removeProfile, setProfile, setSelectedMcpTools } from './profile-edit.ts'
import { readProfiles } from './profiles.ts'

const REVIEWER = { agent: 'claude-code', variant: 'reviewer' }
const profilesIn = (text: string) => {
  const { profiles, errors } = readProfiles('profiles.json', Buffer.from(text))
  expect(errors).toEqual([])
  return profiles
}
const selectedIn = (text: string, { agent, variant } = REVIEWER) =>
  getSelectedMcpTools(profilesIn(text), agent, variant)

const OLD = `{
    "$schema": "x",  "executors" : {
	"CODEX":{"DEFAULT":{ },"Reviewer": {"plan" : true,
        "nested": {"selected_mcp_tools": "mine", "a": [ 1,2 ]}}},
    "CLAUDE_CODE": {
        "DEFAULT": {},
        "Reviewer": {
            "model": "x\\u0041",
            "append": [1.0, 2e3]
        }
    }
  },
  "later": null
}
`

describe('an edit of profiles.json', () => {
  it(`${promise('AG-6')} writes a selection and leaves every other byte as it is`, () => {
    const edited = setSelectedMcpTools(OLD, REVIEWER, ['github/search', 'docs'])
    expect(edited).toBe(
      OLD.replace(
        '"append": [1.0, 2e3]\n',
        '"append": [1.0, 2e3],\n            "selected_mcp_tools": ["github/search", "docs"]\n',
      ),
    )
    expect(selectedIn(edited)).toEqual(['github/search', 'docs'])
    expect(setSelectedMcpTools(edited, REVIEWER, undefined)).toBe(OLD)
  })

  it('that changes nothing returns the same text', () => {
    for (const text of [OLD, '{"executors":{"CODEX":{"A":{}}}}', '{ }\r\n']) {
      const once = setProfile(text, REVIEWER, { selectedMcpTools: ['a'], title: 't' })
      expect(setProfile(once, REVIEWER, { selectedMcpTools: ['a'], title: 't' })).toBe(once)
      expect(setProfile(once, REVIEWER, {})).toBe(once)
    }
    expect(setSelectedMcpTools(OLD, REVIEWER, undefined)).toBe(OLD)
  })

  it('finds agents and variants however they are written, and writes new ones in capitals', () => {
    const edited = setSelectedMcpTools(OLD, { agent: 'claude', variant: 'REVIEWER' }, [])
    expect(edited.match(/reviewer/gi)).toHaveLength(2)
    const made = setSelectedMcpTools('', { agent: 'gemini', variant: 'ci' }, ['x'])
    expect(JSON.parse(made)).toEqual({ executors: { GEMINI_CLI: { CI: { selected_mcp_tools: ['x'] } } } })
    expect(made).toMatch(/^\{\n {2}"executors": \{\n {4}"GEMINI_CLI"/)
  })

  it('preserves line endings, and keeps a file of one line on one line', () => {
    const crlf = '{\r\n  "executors": {}\r\n}\r\n'
    expect(setSelectedMcpTools(crlf, REVIEWER, ['a']).replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    expect(setSelectedMcpTools('{"executors":{}}', REVIEWER, ['a'])).not.toContain('\n')
  })

  it('removes a variant with its comma, wherever it is', () => {
    const three = '{"executors": {"CODEX": {"A": {}, "B": {"x": 1}, "C": {}}}}'
    const without = (variant: string) => JSON.parse(removeProfile(three, { agent: 'codex', variant }))
    for (const variant of ['a', 'b', 'c'])
      expect(Object.keys(without(variant).executors.CODEX)).toEqual(
        ['A', 'B', 'C'].filter((name) => name !== variant.toUpperCase()),
      )
    expect(removeProfile('{"executors": {"CODEX": {"A": {}}}}', { agent: 'codex', variant: 'a' })).toBe(
      '{"executors": {"CODEX": {}}}',
    )
  })

  it('sets the given value in any file, and changes no other value', () => {
    const word = fc.stringMatching(/^[A-Z]{1,3}$/)
    const variants = fc.dictionary(word, fc.dictionary(fc.constantFrom('x', 'title', 'é"\\', '__proto__'), fc.string()))
    const file = fc.record({ executors: fc.dictionary(word, variants), other: fc.jsonValue() })
    const spaces = fc.constantFrom(undefined, 1, 2, '\t')
    fc.assert(
      fc.property(file, spaces, fc.array(fc.string()), (value, indent, selectors) => {
        const before = JSON.stringify(value, undefined, indent)
        const [agent = 'Q'] = Object.keys(value.executors)
        const [variant = 'V'] = Object.keys(value.executors[agent] ?? {})
        const ref = { agent: agent.toLowerCase(), variant: variant.toLowerCase() }
        const after = setSelectedMcpTools(before, ref, selectors)
        const wanted = structuredClone(value) as unknown as Record<string, Record<string, Record<string, object>>>
        const agents = wanted.executors as Record<string, Record<string, object>>
        agents[agent] = { ...agents[agent], [variant]: { ...agents[agent]?.[variant], selected_mcp_tools: selectors } }
        expect(JSON.parse(after)).toEqual(JSON.parse(JSON.stringify(wanted)))
      }),
    )
  })
})
