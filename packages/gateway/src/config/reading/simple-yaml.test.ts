// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are part of what is tested.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatServer } from '../servers/add-servers.ts'
import { parseTree, parseTreeFully } from './located-tree.ts'
import { readSimpleYaml } from './simple-yaml.ts'

const CONFIG = `# mine
gateway:
  port: 4000   # not the usual one
  allowed_hosts: [a.example, 'b c', "d", 5]

mcp_servers:
  # from claude-code
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", /data]
    env:
      TOKEN: \${TOKEN}
      NOTE: two words, here:not
  "odd: name":
    url: https://host.example:8080/mcp?a=b
    headers: {}
  empty:
  listed:
    command: ~/bin/x
    args:
      - "-y"
      - ../data
      - 12
    enabled: false
`

/** Parts of lines that are simple, nearly simple, or not simple at all. */
const VALUES = [
  ...['x', 'npx', 'a b', '/data', './a', '../a', '~/a', '~', '.', '..', '.5', '.inf', '.nan', '${A}', '$A', '${A}-b c'],
  ...['0', '-0', '1', '-12', '+1', '012', '0x1f', '0o7', '1e3', '1.10', '123456789012345', '1234567890123456789', '5m'],
  ...[
    'true',
    'True',
    'no',
    'null',
    'Null',
    'NULL',
    'nullable',
    'true x',
    'https://a:1/b?c=d',
    'a:b',
    'a: b',
    'a:',
    'a ,b',
  ],
  ...[
    '"x"',
    '"a: b # c"',
    '"\\u00e9\\n\\/"',
    '"\\ud83d\\ude00"',
    '"\\x41"',
    '"a',
    '"a" b',
    '""',
    "'x'",
    "'a''b'",
    "''",
  ],
  ...[
    '[]',
    '[ ]',
    '[a, "b", \'c\', 1]',
    '[ a , b ]',
    '[a,b]',
    '[a, b',
    '[a b]',
    '[true, null]',
    '[Null]',
    '[a, ]',
    '[[a]]',
  ],
  ...[
    '["a", b]]',
    '[a]b',
    '["]", a]',
    '{}',
    '{ }',
    '{a: b}',
    '{}x',
    '&a x',
    '*a',
    '!!int 1',
    '|',
    '>',
    '@x',
    '%x',
    '- x',
  ],
  ...[
    'x # c',
    'x#c',
    '"x" # c',
    '"x"#c',
    '[a] # c',
    '{} # c',
    '# c',
    '#c',
    '',
    ' ',
    'é',
    'a é',
    '"é"',
    '\t',
    'a\tb',
    '?',
    '<<',
  ],
]
const KEYS = [
  'a',
  'b',
  'c',
  'a-b.c',
  '_x',
  '"a"',
  '"b c"',
  '"<<"',
  '<<',
  'true',
  'Null',
  '"true"',
  '1',
  "'a'",
  '?',
  'a b',
]
const line = fc.tuple(
  fc.constantFrom('', '', '  ', '  ', '    ', ' ', '      '),
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...KEYS).map((key) => `${key}:`) },
    { weight: 2, arbitrary: fc.constantFrom('-', '- a:', '#', '', '---', '...', '%YAML 1.2', 'a') },
  ),
  fc.constantFrom(' ', ' ', ' ', '', '   '),
  fc.oneof({ weight: 1, arbitrary: fc.constant('') }, { weight: 2, arbitrary: fc.constantFrom(...VALUES) }),
)
const text = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 8 }), fc.constantFrom('\n', '', '\r\n', '\n\n'))
  .map(([lines, end]) => lines.map((parts) => parts.join('')).join('\n') + end)

/** A line of a mostly simple file: its indentation and its content. */
const tidyLine = fc.tuple(
  fc.nat(3),
  fc.oneof(
    { weight: 9, arbitrary: fc.constant('key') },
    { weight: 3, arbitrary: fc.constantFrom('item', 'note', 'blank') },
  ),
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom('', '', 'x', 'a b', '/d', '12', 'true', '"q: #"', "'s'", '[a, "b"]', '{}'),
    },
    { weight: 1, arbitrary: fc.constantFrom(...VALUES) },
  ),
)
const WRITTEN = { key: 'k', item: '-', note: '#', blank: '' } as const
const tidyText = fc.array(tidyLine, { minLength: 1, maxLength: 8 }).map((lines) =>
  lines
    .map(([depth, kind, value], at) => {
      const head = kind === 'key' ? `k${at}:` : WRITTEN[kind as keyof typeof WRITTEN]
      return `${'  '.repeat(at === 0 ? 0 : depth)}${head} ${kind === 'blank' ? '' : value}`
    })
    .join('\n'),
)

function expectSame(simple: ReturnType<typeof readSimpleYaml>, written: string): void {
  const any = parseTreeFully(written)
  expect({ written, problems: any.problems, root: any.root }).toEqual({ written, problems: [], root: simple })
}

describe('a config with one key or item per line', () => {
  it('is read without the full parser, with the same locations', () => {
    const simple = readSimpleYaml(CONFIG)
    expect(simple).toMatchObject({ kind: 'map' })
    expectSame(simple, CONFIG)
    const [quick, any] = [parseTree(CONFIG), parseTreeFully(CONFIG)]
    for (let offset = 0; offset <= CONFIG.length; offset++)
      expect(quick.positionOf(offset)).toEqual(any.positionOf(offset))
  })

  it.each(VALUES)('has the same meaning as for the full parser, with the value %j', (value) => {
    for (const written of [`a: ${value}\n`, `a:\n  - ${value}\n  - b\n`, `a:\n  b: ${value}\n    c\n`, `a: ${value}`]) {
      const simple = readSimpleYaml(written)
      if (simple !== undefined) expectSame(simple, written)
    }
  })

  it('has the same meaning as for the full parser, or is left to it', () => {
    let simple = 0
    fc.assert(
      fc.property(fc.oneof(text, tidyText), (written) => {
        const read = readSimpleYaml(written)
        if (read === undefined) return
        simple++
        expectSame(read, written)
      }),
      { numRuns: 3_000 },
    )
    expect(simple).toBeGreaterThan(100)
  })

  it('is the style in which an import writes', () => {
    const written = fc.string({ unit: 'binary', maxLength: 20 })
    const entry = fc.record({
      command: written,
      args: fc.array(fc.oneof(written, fc.integer()), { maxLength: 12 }),
      env: fc.dictionary(written, written, { maxKeys: 3 }),
      enabled: fc.boolean(),
    })
    fc.assert(
      fc.property(entry, (one) => {
        const lines = formatServer({ id: 'new', entry: one, comment: ['from x'] }, '  ')
        const file = `mcp_servers:\n${lines.map((part) => `  ${part}\n`).join('')}`
        const read = readSimpleYaml(file)
        expect(read === undefined).toBe(Object.keys(one.env).includes('<<'))
        if (read !== undefined) expectSame(read, file)
      }),
    )
  })

  it.each([
    ['twice the same key', 'a: 1\na: 2\n'],
    ['twice the same key, once in quotes', 'a: 1\n"a": 2\n'],
    ['a merge key', 'a:\n  "<<": x\n'],
    ['a line that goes on', 'a: x\n  y\n'],
    ['a list as far out as its key', 'a:\n- x\n'],
    ['two documents', 'a: 1\n---\nb: 2\n'],
    ['Windows line ends', 'a: 1\r\n'],
    ['a byte order mark', '\ufeffa: 1\n'],
    ['nothing', '# nothing\n'],
    ['a line that nobody writes', `a: ${'x'.repeat(1_000)}\n`],
    ['a depth that nobody writes', Array.from({ length: 40 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
    ['more than anybody writes', Array.from({ length: 150_001 }, (_, n) => `k${n}:\n`).join('')],
  ])('leaves %s to the full parser', (_what, written) => {
    expect(readSimpleYaml(written)).toBeUndefined()
  })
})
