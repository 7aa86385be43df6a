import { type Principal, SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createHome } from '../home/home.test-kit.ts'
import { loadSettings } from '../load-settings.ts'
import { getSelectedMcpTools, mayApprove } from '../sections/narrow-principal.ts'
import { setSelectedMcpTools } from './profile-edit.ts'
import { readProfiles } from './profiles.ts'

const ANN: Principal = { user: 'ann', agent: 'claude-code', profile: 'reviewer', session: 's', role: 'agent' }
const read = (text: string) => readProfiles('profiles.json', Buffer.from(text))
const placesIn = (text: string) => read(text).errors.map(({ line, column, key }) => `${line}:${column} ${key}`.trim())

describe('profiles.json', () => {
  it('sets which clients may approve, by agent and variant, and may have other content', () => {
    const { profiles, errors } = read(`{
      "version": 7,
      "executors": {
        "CLAUDE_CODE": { "DEFAULT": {}, "REVIEWER": { "client_approval": true, "title": "x", "selected_mcp_tools": [] } },
        "CODEX": { "reviewer": { "client_approval": false } }
      }
    }`)
    expect(errors).toEqual([])
    expect(mayApprove(profiles, ANN)).toBe(true)
    expect(mayApprove(profiles, { ...ANN, profile: 'Reviewer' })).toBe(true)
    expect(mayApprove(profiles, { ...ANN, profile: 'default' })).toBe(false)
    expect(mayApprove(profiles, { ...ANN, agent: 'codex' })).toBe(false)
    expect(mayApprove(profiles, { ...ANN, agent: 'CLAUDE_CODE' })).toBe(false)
    expect(mayApprove(profiles, { ...ANN, agent: '__proto__', profile: 'constructor' })).toBe(false)
  })

  it('sets the fields and the selection of a profile, with the line of the selection', () => {
    const { profiles, errors } = read(`{ "executors": { "GEMINI": {
      "Ci": { "title": "Builds", "token_budget": 900, "session": "nightly",
        "selected_mcp_tools": ["docs", "!docs/x"], "model": {"selected_mcp_tools": 7} }
    } } }`)
    expect(errors).toEqual([])
    const location = { file: 'profiles.json', line: 3 }
    const fields = {
      title: 'Builds',
      tokenBudget: 900,
      session: 'nightly',
      selectedMcpTools: ['docs', '!docs/x'],
      location,
    }
    expect(profiles.get('gemini-cli.ci')).toEqual({ agent: 'gemini-cli', variant: 'Ci', ...fields })
    expect(profiles.get('gemini-cli.default')).toMatchObject({ variant: 'DEFAULT' })
  })

  it(`${promise('AG-6')} uses the selection of an agent for all its variants without one of their own`, () => {
    const { profiles, errors } = read(`{ "executors": { "CLAUDE_CODE": {
      "selected_mcp_tools": ["docs"],
      "DEFAULT": { "title": "x" },
      "ALL": { "selected_mcp_tools": ["*"] }
    }, "CODEX": { "selected_mcp_tools": [] } } }`)
    expect(errors).toEqual([])
    const shared = { selectedMcpTools: ['docs'], inheritsSelection: true, location: { file: 'profiles.json', line: 2 } }
    expect(profiles.get('claude-code.default')).toMatchObject({ title: 'x', ...shared })
    expect(profiles.get('claude-code.all')).toEqual({
      ...{ agent: 'claude-code', variant: 'ALL', selectedMcpTools: ['*'] },
      location: { file: 'profiles.json', line: 4 },
    })
    expect(getSelectedMcpTools(profiles, 'claude', 'DEFAULT')).toEqual(['docs'])
    expect(getSelectedMcpTools(profiles, 'codex', 'default')).toEqual([])
    expect([...profiles.keys()].sort()).toEqual(['claude-code.all', 'claude-code.default', 'codex.default'])
  })

  it('reports a selection that is not valid, and a variant with the name of the field', () => {
    expect(placesIn('{"executors": {"CODEX": {"selected_mcp_tools": "docs"}}}')).toEqual([
      '1:26 executors.CODEX.selected_mcp_tools',
    ])
    expect(placesIn('{"executors": {"CODEX": {"Selected_MCP_Tools": {}}}}')).toEqual([
      '1:26 executors.CODEX.Selected_MCP_Tools',
    ])
  })

  it('changed by us, preserves that selection and everything else', () => {
    const text = '{"executors": {"CODEX": {"selected_mcp_tools": ["docs"], "DEFAULT": {"mine": 1}}}}'
    const edited = setSelectedMcpTools(text, { agent: 'codex', variant: 'default' }, ['files'])
    expect(JSON.parse(edited)).toEqual({
      executors: { CODEX: { selected_mcp_tools: ['docs'], DEFAULT: { mine: 1, selected_mcp_tools: ['files'] } } },
    })
    const back = setSelectedMcpTools(edited, { agent: 'codex', variant: 'default' }, undefined)
    expect(JSON.parse(back)).toEqual(JSON.parse(text))
  })

  it('gives no right to approve to a caller that only claimed a profile', () => {
    const { profiles } = read('{"executors": {"CLAUDE_CODE": {"REVIEWER": {"client_approval": true}}}}')
    expect(mayApprove(profiles, { ...ANN, isClaimed: true })).toBe(false)
    expect(mayApprove(new Map(), { ...ANN, isClaimed: true, isAttended: true })).toBe(false)
  })

  it.each([
    ['', true],
    ['"client_approval": true', true],
    ['"client_approval": false', false],
  ])('allows the user of the client to approve if the profile has {%s}: %s', (fields, may) => {
    const { profiles } = read(`{"executors": {"CLAUDE_CODE": {"REVIEWER": {${fields}}}}}`)
    expect(mayApprove(profiles, { ...ANN, isAttended: true })).toBe(may)
  })

  it.each([
    ['{"executors": {"CODEX": {"A": {"client_approval": true,}}}}', ['1:56']],
    ['{\n  // nobody\n  "executors": {}\n}', ['2:3']],
    ['executors: {}', ['1:10']],
    ['{"executors": {', ['1:16']],
    ['', ['1:1']],
    ['[]', ['1:1']],
    ['{"executors": []}', ['1:2 executors']],
    ['{"executors": {"CODEX": true}}', ['1:16 executors.CODEX']],
    ['{"executors": {"codex": {}}}', ['1:16 executors.codex']],
    ['{"executors": {"CODEX": {"A": {"client_approval": "true"}}}}', ['1:32 executors.CODEX.A.client_approval']],
    ['{"executors": {"CODEX": {"A": {"client_approval": 1}}}}', ['1:32 executors.CODEX.A.client_approval']],
    ['{"executors": {"CODEX": {"A": {"selected_mcp_tool": ["x"]}}}}', ['1:32 executors.CODEX.A.selected_mcp_tool']],
    ['{"executors": {"CODEX": {"A": {"selectedMcpTools": ["x"]}}}}', ['1:32 executors.CODEX.A.selectedMcpTools']],
    ['{"executors": {"CODEX": {"A": {"selected_mcp_tools": null}}}}', ['1:32 executors.CODEX.A.selected_mcp_tools']],
    [
      '{"executors": {"CODEX": {"A": {"selected_mcp_tools": ["a", 1]}}}}',
      ['1:32 executors.CODEX.A.selected_mcp_tools'],
    ],
    ['{"executors": {"CODEX": {"A": {"title": 5}}}}', ['1:32 executors.CODEX.A.title']],
    ['{"executors": {"CODEX": {"A": {"token_budget": 0}}}}', ['1:32 executors.CODEX.A.token_budget']],
    ['{"executors": {"CODEX": {"A": {"token_budget": 1.5}}}}', ['1:32 executors.CODEX.A.token_budget']],
    ['{"executors": {"CODEX": {"A": {"session": "a\\nb"}}}}', ['1:32 executors.CODEX.A.session']],
    ['{"executors": {"CODEX": {"__x": {}}}}', ['1:26 executors.CODEX.__x']],
    ['{"executors": {"CODEX": {"tools": []}}}', ['1:26 executors.CODEX.tools']],
    ['{"executors": {"CODEX": {"STRASSE": {}, "straße": {}}}}', ['1:41 executors.CODEX["straße"]']],
    ['{"executors": {"GEMINI": {"A": {}}, "GEMINI_CLI": {"A": {}}}}', ['1:52 executors.GEMINI_CLI.A']],
    ['{"executors": {"CODEX": {"A": {}, "a": {}}}}', ['1:35 executors.CODEX.a']],
    ['{"executors": {"CODEX": {"A": {"client_approval": false, "client_approval": true}}}}', ['1:58']],
    ['{"executors": {}, "executors": {"CODEX": {"A": {"client_approval": true}}}}', ['1:19']],
  ])('is refused with the location of the error: %s', (text, locations) => {
    expect(placesIn(text)).toEqual(locations)
  })

  it('with an error stops the start, and the message names the file', async () => {
    const home = await createHome({ 'config.yaml': '', 'profiles.json': '{"executors": 5}' })
    const error = await loadSettings({ home, environment: {} }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(SallyportError)
    expect(String(error)).toContain('profiles.json:1:2 executors: expected an object')
  })
})
