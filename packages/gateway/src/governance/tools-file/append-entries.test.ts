import { describe, expect, it } from 'vitest'
import { toCommentText } from './insert-lines.ts'
import { createNewEntry } from './new-entry.test-kit.ts'
import { appendEntries, type EditResult, type NewEntry, parseToolsFile, readToolsFile } from './tools-file.ts'
import { ORACLES } from './yaml-oracle.test-kit.ts'

const ENTRY = `  # Auto-discovered: 2026-11-15T12:30:45Z
  # Description: Search GitHub repositories
  mcp__github__search:
    category: "mcp"
    permission: [READ, CONNECT] # inferred: readOnlyHint; reaches the network
    risk_level: "low"           # inferred: "search"
    requires_approval: false
    allowed_in_modes: ["NORMAL", "ALERT", "DEGRADED"]
    pin: "sha256-3f9c"          # digest of name, description, schemas, annotations
    # forbidden_paths: []
    # allowed_paths: []
    # timeout_seconds: 30
`

const CATEGORY = `tool_categories:
  mcp:
    description: "Tools from MCP servers"
    risk_level: "medium"
    examples: ["mcp__github__search"]
`

/** Returns the text of a file after an entry was added. */
function added(text: string, ...entries: readonly NewEntry[]): string {
  const change = appendEntries(parseToolsFile(text), entries.length === 0 ? [createNewEntry()] : entries)
  if (!change.ok) expect.fail(change.why)
  return change.text
}

const refusal = (change: EditResult): string => (change.ok ? expect.fail('expected a refusal') : change.why)

const indented = (text: string, from: string, to: string): string =>
  text.replaceAll(/^ +/gm, (spaces) => to.repeat(spaces.length / from.length))

describe('a tool that is new', () => {
  it('gets an entry at the end of the section, before what belongs to the next one', () => {
    const before = `${CATEGORY}\ntools:\n  a:\n    hidden: true\n    # a remark about a\n`
    const after = '\n# What modes leave\nmode_policies:\n  ALERT: {}\n'
    expect(added(before + after)).toBe(`${before}\n${ENTRY}${after}`)
  })

  it('gets an entry in a new file, after a header comment', () => {
    const text = added('')
    expect(text).toMatch(/^# What each tool may do/)
    expect(text.endsWith(`\n\n${CATEGORY}\ntools:\n${ENTRY}`)).toBe(true)
    expect(readToolsFile(parseToolsFile(text), 'tools.yaml')).toMatchObject({ ok: true, warnings: [] })
  })

  it('is written once, however often it is discovered', () => {
    const once = added('')
    expect(appendEntries(parseToolsFile(once), [createNewEntry({ description: 'other' })])).toMatchObject({
      ...{ ok: true, text: once, splices: [], skipped: [] },
    })
    expect(added('', createNewEntry(), createNewEntry())).toBe(once)
  })

  it('is recognized under a quoted key', () => {
    const text = `${CATEGORY}tools:\n  "mcp__github__search": {hidden: true}\n`
    expect(added(text)).toBe(text)
  })

  it('may be added together with others, separated by blank lines', () => {
    const text = added(`${CATEGORY}\ntools:\n`, createNewEntry(), createNewEntry({ name: 'mcp__a__b' }))
    expect(text).toBe(`${CATEGORY}\ntools:\n${ENTRY}\n${ENTRY.replace('mcp__github__search', 'mcp__a__b')}`)
  })

  it('has comments with the findings in its description', () => {
    const findings = ['hidden characters in description', ...Array(9).fill('x')]
    expect(added('', createNewEntry({ findings }))).toContain(
      `repositories\n  # Warning: hidden characters in description\n${'  # Warning: x\n'.repeat(4)}  # Warning: and 5 more\n`,
    )
  })

  it('has no description line if it has no description', () => {
    const { description: _, ...entry } = createNewEntry()
    expect(added('', entry)).toContain('45Z\n  mcp__github__search:')
  })
})

describe('the style of a file', () => {
  it.each([1, 3, 4, 8])('is preserved: indentation by %i', (width) => {
    const by = ' '.repeat(width)
    const text = indented(`${CATEGORY}\ntools:\n  a:\n    hidden: true\n`, '  ', by)
    expect(added(text)).toBe(`${text}\n${indented(ENTRY, '  ', by)}`)
  })

  it('is preserved: indentation that is not the same everywhere', () => {
    const text = `${CATEGORY}\ntools:\n   a:\n        hidden: true\n`
    const entry = ENTRY.replaceAll(/^ {4}/gm, ' '.repeat(8)).replaceAll(/^ {2}(?! )/gm, ' '.repeat(3))
    expect(added(text)).toBe(`${text}\n${entry}`)
  })

  it('is preserved: line endings and the byte order mark', () => {
    const text = `\ufeff${CATEGORY}\ntools:\n  a:\n    hidden: true`.replaceAll('\n', '\r\n')
    expect(added(text)).toBe(`${text}\r\n\r\n${ENTRY.replaceAll('\n', '\r\n')}`)
  })

  it('is preserved: a block scalar at the end whose blank lines matter', () => {
    const text = `${CATEGORY}tools:\n  a:\n    note: |+\n      text\n\n\n`
    expect(added(`${text}version: 1\n`)).toBe(`${text}${ENTRY}version: 1\n`)
  })

  it('is preserved: the end of the document', () => {
    expect(added(`${CATEGORY}tools:\n  a:\n...\n`)).toBe(`${CATEGORY}tools:\n  a:\n\n${ENTRY}...\n`)
    expect(added(`${CATEGORY}...\n`)).toBe(`${CATEGORY}\ntools:\n${ENTRY}...\n`)
  })

  it('is preserved: comments below an empty section', () => {
    const text = `${CATEGORY}tools: # none so far\n  # add yours here\n\n# end\n`
    expect(added(text)).toBe(text.replace('here\n', `here\n\n${ENTRY}`))
  })
})

describe('sections that are missing', () => {
  it('are added in one place if both are missing', () => {
    const text = '# ours\nmode_policies:\n  ALERT: {}'
    expect(added(text)).toBe(`${text}\n\n${CATEGORY}\ntools:\n${ENTRY}`)
  })

  it('are added in one place if the section for the category is missing', () => {
    const change = appendEntries(parseToolsFile('tools:\n  a:\n\nversion: 1\n'), [createNewEntry()])
    expect(change).toMatchObject({ ok: true, splices: [{ at: 12, removed: '' }] })
    expect(change.ok && change.text).toBe(`tools:\n  a:\n\n${ENTRY}\n${CATEGORY}\nversion: 1\n`)
  })

  it('get the category if they exist without it', () => {
    const text = 'tool_categories:\n  # ours\n  files:\n    risk_level: low\n  # more\n\ntools:\n'
    const category = CATEGORY.slice(CATEGORY.indexOf('\n') + 1)
    expect(added(text)).toBe(`${text.replace('# more\n', `# more\n${category}`)}${ENTRY}`)
  })

  it('are added in one place if the category goes into the last section', () => {
    const text = 'tool_categories:\n  files:\n    risk_level: low'
    const category = CATEGORY.slice(CATEGORY.indexOf('\n') + 1)
    expect(added(text)).toBe(`${text}\n${category}\ntools:\n${ENTRY}`)
    expect(added(`${text}\n\n# end\n`)).toBe(`${text}\n${category}\ntools:\n${ENTRY}\n# end\n`)
  })

  it('do not get the category if they are in flow style, and this is reported', () => {
    const change = appendEntries(parseToolsFile('tool_categories: {}\ntools:\n'), [createNewEntry()])
    expect(change).toMatchObject({
      text: `tool_categories: {}\ntools:\n${ENTRY}`,
      skipped: [{ name: 'tool_categories.mcp', why: expect.stringContaining('block style') }],
    })
  })
})

describe('a file that is not changed', () => {
  it.each([
    ['tools: {}\n', /^tools is not written in block style/],
    ['tools: {a: {hidden: true}}\n', /^tools is not written in block style/],
    ['tools: ~\n', /^tools is not written in block style/],
    ['tools: []\n', /^tools is not written in block style/],
    ['x: &x\n  a: {}\ntools: *x\n', /^tools is an alias/],
    ['{tools: {}}\n', /flow style/],
    ['- a\n', /not a mapping/],
    ['~\n', /not a mapping/],
    ['  tools:\n    a:\n', /indented/],
    ['tools:\n  a: "\n', /^it cannot be read: line 2, column \d+: /],
    ['# x\rtools:\n', /^it cannot be read: line 1, column 4: .*carriage return/],
    ['tools:\n  a:\n---\ntools:\n', /^it cannot be read: line 3.*documents/],
    ['tools:\n  a:\n...\n---\n', /^it cannot be read: .*documents/],
  ])('says why: %j', (text, why) => {
    expect(refusal(appendEntries(parseToolsFile(text), [createNewEntry()]))).toMatch(why)
  })
})

describe('text from a server', () => {
  const REDEFINITION = 'Search\r  mcp__shell__exec: {allowed_in_modes: [NORMAL]}'
  const SEPARATORS = ['\r', '\n', '\r\n', '\u0085', '\u2028', '\u2029', '\v', '\f', '\u001c', '\ufeff']
  const strict = `${CATEGORY}tools:\n  mcp__shell__exec:\n    allowed_in_modes: []\n`

  it.each(SEPARATORS)(
    'cannot give another tool another policy by %j in the description, a reason or a finding',
    (end) => {
      const text = REDEFINITION.replace('\r', end)
      const entry = createNewEntry({
        ...{ description: text, findings: [text] },
        riskLevel: { value: 'low', reason: text },
        permission: { value: ['READ'], reason: text },
      })
      const after = added(strict, entry)
      for (const oracle of Object.values(ORACLES)) {
        expect(oracle(after)).toMatchObject({ value: { tools: { mcp__shell__exec: { allowed_in_modes: [] } } } })
      }
      expect(after).not.toMatch(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/u)
    },
  )

  it.each([
    ...SEPARATORS.map((end) => `a${end}  mcp__shell__exec: {allowed_in_modes: [NORMAL]}`),
    ...['foo: bar', 'foo #', '# foo', '"', "'", '\\', '---', '...', '{}', '[', '&a', '<<', '!!str', '- a', '', ' '],
    ...['\u{1f600}', '\ud800', 'é', 'x'.repeat(1_000), 'y:', ':', '%', '`', '@', '|', '>', '\u0000', '\u007f'],
  ])('cannot break the file by a tool named %j', (tool) => {
    const entry = createNewEntry({ name: `mcp__server__${tool}` })
    const after = added(strict, entry)
    for (const oracle of Object.values(ORACLES)) {
      const { tools } = (oracle(after)?.value ?? {}) as { readonly tools?: object }
      expect(Object.keys(tools ?? {})).toEqual(['mcp__shell__exec', entry.name])
      expect(tools).toMatchObject({ mcp__shell__exec: { allowed_in_modes: [] } })
    }
    expect(after.slice(strict.length)).toMatch(/^[\n -~]*$/)
    expect(added(after, entry)).toBe(after)
  })

  it('is left out if the name is longer than a key can be, and the others are written', () => {
    const long = createNewEntry({ name: `mcp__a__${'x'.repeat(70_000)}` })
    const change = appendEntries(parseToolsFile(strict), [long, createNewEntry()])
    expect(change).toMatchObject({ ok: true, skipped: [{ name: long.name, why: expect.stringContaining('1024') }] })
    expect(change.ok && change.text).toBe(`${strict}\n${ENTRY}`)
  })

  it.each(['mcp__a__*', 'mcp__a__get_?', 'mcp__a__*_page', 'mcp__a__? a'])(
    'is left out if the name would be a pattern: %s',
    (name) => {
      const change = appendEntries(parseToolsFile(strict), [createNewEntry({ name }), createNewEntry()])
      expect(change).toMatchObject({ ok: true, skipped: [{ name, why: expect.stringContaining('* or ?') }] })
      expect(change.ok && change.text).toBe(`${strict}\n${ENTRY}`)
    },
  )

  it('may have a name of exactly the maximum length of a key', () => {
    const fits = createNewEntry({ name: `mcp__a__${'x'.repeat(1_024 - 8)}` })
    for (const oracle of Object.values(ORACLES)) {
      expect(oracle(added(strict, fits))).toMatchObject({ value: { tools: { [fits.name]: { category: 'mcp' } } } })
    }
    const quoted = createNewEntry({ name: `mcp__a__ ${'x'.repeat(1_024 - 8 - 2)}` })
    expect(appendEntries(parseToolsFile(strict), [quoted])).toMatchObject({
      splices: [],
      skipped: [{ name: quoted.name }],
    })
  })

  it('is one line of at most seventy visible characters', () => {
    expect(toCommentText('word '.repeat(14_000), 70)).toHaveLength(70)
    expect([...toCommentText('\u{1f600}'.repeat(100), 70)]).toHaveLength(70)
    expect(toCommentText(` a\u202eb\u200b\u{e0041}\ufe0f c\t\td\n`, 70)).toBe('a b c d')
    expect(toCommentText('x'.repeat(70), 70)).toBe('x'.repeat(70))
    expect(toCommentText('\u0000'.repeat(70_000), 70)).toBe('')
    expect(added('', createNewEntry({ description: 'x'.repeat(70_000) }))).toContain(`: ${'x'.repeat(69)}…\n`)
  })
})
