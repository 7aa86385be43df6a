import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { parseToolsFile, readToolsFile, type ToolsFileResult } from './tools-file.ts'

const PATH = '/home/me/tools.yaml'

const read = (...lines: readonly string[]): ToolsFileResult =>
  readToolsFile(parseToolsFile(`${lines.join('\n')}\n`), PATH)

function fileOf(reading: ToolsFileResult) {
  if (!reading.ok) expect.fail(`line ${reading.issue.line}: ${reading.issue.problem}`)
  return reading.file
}

function issueOf(reading: ToolsFileResult) {
  if (reading.ok) expect.fail('expected an issue')
  return reading.issue
}

const EXAMPLE = [
  'tool_categories:',
  '  mcp:',
  '    description: "Tools from MCP servers"',
  '    risk_level: "medium"',
  '    examples: ["mcp__github__search"]',
  '',
  'tools:',
  '  # Auto-discovered: 2026-11-15T12:30:45Z',
  '  mcp__github__search:',
  '    category: "mcp"',
  '    permission: [READ, CONNECT] # inferred: readOnlyHint; reaches the network',
  '    risk_level: "low"           # inferred: "search"',
  '    requires_approval: false',
  '    allowed_in_modes: ["NORMAL", "ALERT", "DEGRADED"]',
  '    # timeout_seconds: 30',
]

describe('the content of tools.yaml', () => {
  it('is read with the line of every entry and every field', () => {
    expect(fileOf(read(...EXAMPLE))).toEqual({
      path: PATH,
      entries: [
        {
          key: 'mcp__github__search',
          line: 9,
          fields: {
            category: 'mcp',
            permission: ['READ', 'CONNECT'],
            riskLevel: 'low',
            requiresApproval: false,
            allowedInModes: ['NORMAL', 'ALERT', 'DEGRADED'],
          },
          lines: { category: 10, permission: 11, riskLevel: 12, requiresApproval: 13, allowedInModes: 14 },
        },
      ],
      categories: new Map([['mcp', { line: 2, description: 'Tools from MCP servers', riskLevel: 'medium' }]]),
      modePolicies: new Map(),
    })
  })

  it('has the same lines after a byte order mark and with other line endings', () => {
    const { entries } = fileOf(readToolsFile(parseToolsFile(`\ufeff${EXAMPLE.join('\r\n')}`), PATH))
    expect(entries).toEqual(fileOf(read(...EXAMPLE)).entries)
  })

  it('has the same lines if entries around are written in other styles', () => {
    const { entries } = fileOf(
      read(
        'tools:',
        '  a:',
        '    risk_level: high',
        '  "b: c": {risk_level: low,',
        '     hidden: true}',
        '  d:',
        '    hidden: true',
        '  e:',
        '    note: |',
        '      tools:',
        '        a: 1',
        '    essential: true',
      ),
    )
    expect(entries.map(({ key, line, lines }) => ({ key, line, lines }))).toEqual([
      { key: 'a', line: 2, lines: { riskLevel: 3 } },
      { key: 'b: c', line: 4, lines: { riskLevel: 4, hidden: 5 } },
      { key: 'd', line: 6, lines: { hidden: 7 } },
      { key: 'e', line: 8, lines: { note: 9, essential: 12 } },
    ])
  })

  it('follows merge keys to the lines of the values, and prefers own values', () => {
    const { entries } = fileOf(
      read(
        'x-strict: &strict',
        '  risk_level: high',
        '  requires_approval: true',
        'tools:',
        '  a:',
        '    <<: *strict',
        '    requires_approval: false',
        '  b: *strict',
        '  c:',
        '    risk_level: low',
      ),
    )
    expect(entries).toMatchObject([
      {
        key: 'a',
        fields: { riskLevel: 'high', requiresApproval: false },
        lines: { riskLevel: 2, requiresApproval: 7 },
      },
      { key: 'b', fields: { riskLevel: 'high', requiresApproval: true }, lines: { riskLevel: 2, requiresApproval: 3 } },
      { key: 'c', fields: { riskLevel: 'low' } },
    ])
  })

  it('contains the policies of modes, in upper or lower case', () => {
    const { modePolicies } = fileOf(
      read('mode_policies:', '  lockdown:', '    allowed_categories: []', '  ALERT:', '    allowedCategories: [mcp]'),
    )
    expect([...modePolicies]).toEqual([
      ['LOCKDOWN', { line: 2, allowedCategories: [] }],
      ['ALERT', { line: 4, allowedCategories: ['mcp'] }],
    ])
  })

  it.each(['', '\ufeff', '# nothing yet\n', '---\n', 'tools:\n', 'tools: {}\n', 'tools: ~', '{}'])(
    'is nothing in %j',
    (text) => {
      expect(fileOf(readToolsFile(parseToolsFile(text), PATH)).entries).toEqual([])
    },
  )

  it('may have an entry without fields, which changes nothing', () => {
    expect(fileOf(read('tools:', '  a:', '  b: ~')).entries).toEqual([
      { key: 'a', line: 2, fields: {}, lines: {} },
      { key: 'b', line: 3, fields: {}, lines: {} },
    ])
  })

  it.each([[[]], [['%YAML 1.1', '---']]])(
    'has words by YAML 1.2 in every entry, whatever version it asks for: %j',
    (head) => {
      const [first, second] = ['  a:\n    hidden: yes', '  a: {hidden: yes}']
      for (const entry of [first, second]) {
        expect(issueOf(read(...head, 'tools:', entry ?? '')).problem).toMatch(
          /^hidden: expected true or false; got "yes"/,
        )
      }
    },
  )

  it('may have a key with the name of an inherited property', () => {
    const { entries } = fileOf(read('tools:', '  __proto__:', '    risk_level: high', '  constructor: {hidden: true}'))
    expect(entries).toMatchObject([
      { key: '__proto__', fields: { riskLevel: 'high' } },
      { key: 'constructor', fields: { hidden: true } },
    ])
  })
})

describe('a key that is not known', () => {
  it('is a warning with its location and a suggestion', () => {
    const reading = read('tools:', '  a:', '    risk_lvl: high', '  b: {hiden: true}', 'notes: {}')
    expect(reading).toMatchObject({
      ok: true,
      file: {
        entries: [
          { fields: { misspelt: expect.stringContaining('"risk_lvl"') }, lines: { misspelt: 3 } },
          { fields: { misspelt: expect.stringContaining('"hiden"') }, lines: { misspelt: 4 } },
        ],
      },
    })
    expect(reading.ok && reading.warnings).toEqual([
      { line: 5, column: 1, problem: '"notes" is not known and is ignored.' },
      {
        line: 3,
        column: 5,
        problem: 'risk_lvl: this key is not known. Did you mean "risk_level"? Calls are refused until it is corrected.',
      },
      {
        line: 4,
        column: 7,
        problem: 'hiden: this key is not known. Did you mean "hidden"? Calls are refused until it is corrected.',
      },
    ])
  })

  it.each([
    [['tols: {a: {hidden: true}}'], '"tols" is not known. Did you mean "tools"?'],
    [['tool_categorys: {}'], '"tool_categorys" is not known. Did you mean "tool_categories"?'],
    [['mode_policy: {ALERT: {}}'], '"mode_policy" is not known. Did you mean "mode_policies"?'],
    [['mode_policies:', '  ALERT: {allowed_categorys: []}'], 'Did you mean "allowed_categories"?'],
    [['tool_categories:', '  mcp: {risk_levl: high}'], 'Did you mean "risk_level"?'],
  ])(`${promise('ISO-1')} is an error if a misspelt key in %s was meant to restrict`, (lines, problem) => {
    expect(read(...lines)).toMatchObject({ ok: false, issue: { problem: expect.stringContaining(problem) } })
  })

  it('is a warning if it only describes', () => {
    expect(read('tool_categories:', '  mcp: {descripton: text}')).toMatchObject({ ok: true })
  })

  it('is an error in place of a mode, because its policy would not be in force', () => {
    expect(issueOf(read('mode_policies:', '  LOCKDWN:', '    allowed_categories: []'))).toEqual({
      line: 2,
      column: 3,
      problem: 'expected a mode (NORMAL, ALERT, DEGRADED, LOCKDOWN, RECOVERY). Did you mean "LOCKDOWN"?',
    })
  })
})

describe('an error', () => {
  it.each<readonly [string, readonly string[], number, number, RegExp]>([
    ['a wrong value', ['tools:', '  a:', '    risk_level: hihg'], 3, 5, /^risk_level: expected .*Did you mean "high"/],
    ['a wrong value in flow style', ['tools:', '  a: {hidden: 3}'], 2, 7, /^hidden: expected true or false; got 3/],
    [
      'a wrong mode in a list',
      ['tools:', '  a:', '    allowed_in_modes:', '      - NORMAL', '      - ALRT'],
      5,
      9,
      /ALERT/,
    ],
    ['a value that is missing', ['tools:', '  a:', '    pin:'], 3, 5, /^pin: expected .*; got nothing/],
    ['an entry that is a word', ['tools:', '  a: high'], 2, 3, /expected a mapping/],
    ['tools that are a list', ['x: 1', 'tools:', '  - a'], 2, 1, /^tools: expected a mapping/],
    ['a list as the file', ['- a'], 1, 1, /expected a mapping/],
    ['a category that is a word', ['tool_categories:', '  mcp: low'], 2, 3, /mcp: expected a mapping/],
    ['a wrong risk of a category', ['tool_categories:', '  mcp:', '    risk_level: 3'], 3, 5, /^risk_level: expected/],
    ['categories that are no list', ['mode_policies:', '  ALERT:', '    allowed_categories: mcp'], 3, 5, /list of/],
    [
      'an entry that is there twice',
      ['tools:', '  a:', '    hidden: true', '  "a":', '    hidden: false'],
      4,
      3,
      /twice/,
    ],
    ['an entry twice in two styles', ['tools:', '  a:', '    hidden: true', '  a: {}'], 4, 3, /twice/],
    ['a field that is there twice', ['tools:', '  a:', '    hidden: true', '    hidden: false'], 4, 5, /twice/],
    ['a field in two spellings', ['tools:', '  a:', '    riskLevel: low', '    risk_level: high'], 4, 5, /spelling/],
    ['a section that is there twice', ['tools:', '  a:', 'tools:', '  b:'], 3, 1, /twice/],
    ['a tab as indentation', ['tools:', '\ta:', '\t  hidden: true'], 2, 1, /tab/],
    ['a quote that stays open', ['tools:', '  a:', '    note: "x', '  b:', '    note: y"'], 3, 13, /missing/],
    ['two documents', ['tools:', '  a:', '---', 'tools:', '  b:'], 3, 1, /documents/],
    ['an alias without an anchor', ['tools:', '  a: *x'], 2, 6, /no anchor/],
    ['a merge of a word', ['tools:', '  a:', '    <<: low'], 3, 5, /merge key/],
    ['a carriage return alone', ['# x\rtools:', '  a:'], 1, 4, /carriage return/],
  ])('is reported with line and column: %s', (_, lines, line, column, problem) => {
    const issue = issueOf(read(...lines))
    expect(issue).toEqual({ line, column, problem: expect.stringMatching(problem) })
  })

  it('is reported with its position in the whole file, also after entries that were read line by line', () => {
    const many = Array.from({ length: 50 }, (_, index) => [`  tool_${index}:`, '    risk_level: low']).flat()
    expect(issueOf(read('tools:', ...many, '  odd:', '    isolated: {strategy: 3, x: [}'))).toMatchObject({ line: 103 })
    expect(
      issueOf(read('tools:', ...many, '  odd: {hidden: 3}', ...many.map((line) => line.replace('_', '-')))),
    ).toEqual({
      ...{ line: 102, column: 9 },
      problem: expect.stringContaining('hidden'),
    })
  })
})

describe('a hostile file', () => {
  it('is refused if its aliases expand to too many values', () => {
    const levels = Array.from(
      { length: 30 },
      (_, n) => `x${n + 1}: &x${n + 1} [${Array(10).fill(`*x${n}`).join(', ')}]`,
    )
    expect(issueOf(read('x0: &x0 [a]', ...levels)).problem).toMatch(/too large/)
  })

  it('is refused if it is nested too deeply', () => {
    expect(issueOf(read('tools:', `  a: ${'['.repeat(100)}${']'.repeat(100)}`)).problem).toMatch(/nested/)
    expect(issueOf(read('tools:', `  a: ${'['.repeat(50_000)}`)).problem).not.toBe('')
  })

  it('is read in linear time, whatever its lines are', () => {
    const values = [
      `a${' '.repeat(200_000)}x"`,
      `${'a '.repeat(100_000)}"`,
      `"${'\\"'.repeat(100_000)}`,
      `[${'a, '.repeat(20_000)}`,
    ]
    for (const value of values) expect(read('tools:', '  a:', `    rename: ${value}`, '    hidden: 3').ok).toBe(false)
  })
})
