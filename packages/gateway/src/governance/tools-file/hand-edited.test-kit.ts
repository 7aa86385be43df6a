import * as fc from 'fast-check'

type Lines = readonly string[]

const pick = <Value>(...values: readonly Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values)
const some = (lines: fc.Arbitrary<Lines>): fc.Arbitrary<Lines> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, lines)

const indent = (lines: Lines, width: number): Lines =>
  lines.map((line) => (line === '' ? line : ' '.repeat(width) + line))

const tail = pick('', '', '', '', '', '', ' # why not', '   # "quoted" and: so on', ' ', ' #', '\t# after a tab')

const WORDS = [
  'yes',
  'No',
  '010',
  'low',
  '"low"',
  "'low'",
  'high',
  '"h\\u0069gh"',
  'medium',
  'true',
  'null',
  '~',
  '12',
  '0x1f',
  '1.5',
  '""',
]
const LISTS = [
  '[]',
  '[NORMAL]',
  '["NORMAL", ALERT]',
  '[\'NORMAL\' , "ALERT" ]',
  '[ NORMAL,ALERT ]',
  '[NORMAL, ]',
  '[a b, "c, d"]',
]
const TEXTS = [
  'plain words, with (signs); a/b',
  'see https://example.org/#part',
  'a # comment follows',
  '"with # no comment"',
  "'it''s'",
  '"line \\n feed \\u2028"',
  '"{"',
  'ünï',
  '"tab\\there"',
  '"\\x41 \\e"',
  '!!str 12',
  '%a',
]

const oneLine = fc
  .tuple(
    pick(
      'risk_level',
      'category',
      '"category"',
      'note',
      'pin',
      'allowed_in_modes',
      'requires_approval',
      'extra',
      'other',
    ),
    pick(': ', ': ', ': ', ': ', ':  ', ' : '),
    pick(...WORDS, ...WORDS, ...LISTS, ...LISTS, ...TEXTS),
    tail,
  )
  .map(([key, colon, value, end]): Lines => [`${key}${colon}${value}${end}`])

const empty = fc.tuple(pick('note', 'pin'), tail).map(([key, end]): Lines => [`${key}:${end}`])

/** Text that looks like keys, sections or documents to a reader that works line by line. */
const DECOYS = [
  'tools:',
  'mcp__evil__tool:',
  '  risk_level: low',
  '# no comment here',
  '',
  '"',
  '---x',
  '[',
  'text',
  "'",
]

const blockText = fc
  .tuple(pick('|', '>', '|-', '|+', '>+', '|2'), fc.array(pick(...DECOYS), { minLength: 1, maxLength: 4 }), pick(2, 3))
  .map(([style, body, width]): Lines => [`note: ${style}`, ...indent(['first', ...body], style === '|2' ? 2 : width)])

const quotedText = fc
  .tuple(pick('"', "'"), fc.array(pick('tools:', 'mcp__x: y', '# so', '', 'end'), { minLength: 1, maxLength: 3 }))
  .map(([quote, body]): Lines => [`note: ${quote}begin`, ...indent(body, 2), `  end${quote}`])

const multiLine = pick<Lines>(
  ['allowed_in_modes:', '  - NORMAL', '  - ALERT # too'],
  ['allowed_in_modes:', '- NORMAL', '- ALERT'],
  ['allowed_in_modes: [', '    NORMAL, # one', '    ALERT', '  ]'],
  ['arguments:', '  branch:', '    pattern: "^x"', '  deny_patterns: ["a: b"]'],
  ['note: several', '  plain words', '  on lines'],
  ['isolated: {strategy: bounded,', '  turns: 3}'],
  ['? note', ': odd'],
  ['note:', '  "on the next line"'],
)

const comment = pick<Lines>(['# a remark'], ['  # deeper: remark'], [''], ['', '# after a blank', ''], ['#'])

const merge = pick<Lines>(['<<: *defaults'], ['<<: [*defaults, *more]'], ['risk_level: *level'])

const field = fc.oneof(
  { weight: 16, arbitrary: oneLine },
  { weight: 4, arbitrary: comment },
  empty,
  blockText,
  quotedText,
  multiLine,
)

/** Removes duplicate keys: they would make the whole file invalid, which would hide other cases. */
function dropDuplicates(fields: readonly Lines[]): Lines {
  const seen = new Set<string>()
  return fields
    .filter(([first = '']) => {
      const key = /^[?"]? ?(\w+|<<)/.exec(first)?.[1]
      if (key === undefined || first.startsWith('#')) return true
      if (seen.has(key)) return false
      seen.add(key)
      return true
    })
    .flat()
}

const GENERATED: Lines = [
  'category: "mcp"',
  'permission: [READ, CONNECT] # inferred: reaches the network',
  'risk_level: "low"           # inferred: "search"',
  'requires_approval: false',
  'allowed_in_modes: ["NORMAL", "ALERT", "DEGRADED"]',
  'pin: "sha256-abc"',
  '# forbidden_paths: []',
]

const body = fc.oneof(
  { weight: 4, arbitrary: fc.array(field, { minLength: 1, maxLength: 5 }).map(dropDuplicates) },
  { weight: 5, arbitrary: fc.constant(GENERATED) },
)

const KEYS = [
  ...Array.from({ length: 6 }, () => (n: number) => `mcp__server__tool_${n}`),
  (n: number) => `mcp__server__tool_${n}`,
  (n: number) => `"mcp__server__quoted_${n}"`,
  (n: number) => `'mcp__server__single_${n}'`,
  (n: number) => `"mcp__server__odd: ${n} # \\u00e9"`,
  (n: number) => `server/tool_${n}`,
  (n: number) => `mcp__*__glob_${n}`,
]

type Entry = (n: number, step: number) => Lines

const blockEntry = fc.tuple(pick(...KEYS), tail, body, some(merge)).map(
  ([key, end, fields, merged]): Entry =>
    (n, step) => [`${key(n)}:${end}`, ...indent([...merged, ...fields], step)],
)

const oddEntry = fc
  .tuple(pick(...KEYS), pick('', ' {}', ' {risk_level: low}', ' ~', ' *defaults', ' &one', ' # null'))
  .map(
    ([key, value]): Entry =>
      (n) => [`${key(n)}:${value}`],
  )

const anchored = body.map(
  (fields): Entry =>
    (n, step) => [
      `mcp__server__anchored_${n}: &entry${n}`,
      ...indent(['hidden: true', ...fields.filter((line) => !line.startsWith('hidden'))], step),
    ],
)

const entry = fc.oneof({ weight: 8, arbitrary: blockEntry }, oddEntry, { weight: 1, arbitrary: anchored })

/** Rarely, a key that is already in the file. */
const numbered = fc.tuple(some(comment), entry, fc.integer({ min: 0, max: 30 }))

const entries = fc.array(numbered, { maxLength: 6 }).map(
  (list) =>
    (step: number): Lines =>
      list.flatMap(([before, make, duplicate], n) => [...before, ...make(duplicate === 0 ? 0 : n, step)]),
)

const toolsSection = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(pick('tools:', 'tools:', '"tools":', 'tools: # all of them', 'tools: &t'), entries).map(
      ([head, make]) =>
        (width: number, step: number): Lines => [head, ...indent(make(step), width)],
    ),
  },
  pick(
    'tools: ~',
    'tools: {}',
    'tools: {mcp__a__b: {risk_level: low}}',
    'tools: null',
    'tools: *defaults',
    'tools: []',
  ).map((line) => (): Lines => [line]),
  fc.constant((): Lines => []),
)

const categories = pick<Lines>(
  [],
  ['tool_categories:', '  mcp:', '    risk_level: medium'],
  ['tool_categories:', '  files:', '    description: "of files"', '    risk_level: low # so', '', '  # the end'],
  ['tool_categories:'],
  ['tool_categories: {mcp: {risk_level: low}}'],
  ['tool_categories: {}'],
  ['toolCategories:', '    shell: {risk_level: high}'],
)

const others = fc
  .array(
    pick<Lines>(
      ['mode_policies:', '  LOCKDOWN:', '    allowed_categories: []'],
      ['# ---- other things', 'extra: |', '  tools:', '    mcp__evil: {}'],
      ['', '# At the margin', '', 'version: 1'],
      ['list:', '- a', '- b'],
      ['quoted: "two', '  lines"'],
      ['flow: {a: 1,', '  b: 2}'],
    ),
    { maxLength: 2 },
  )
  .map((list) => [...new Map(list.map((lines) => [lines.join(), lines])).values()].flat())

const ANCHORS: Lines = [
  'x-defaults: &defaults',
  '  risk_level: &level low',
  '  category: mcp',
  'x-more: &more {hidden: true}',
]

interface Habits {
  readonly eol: string
  readonly bom: string
  readonly start: Lines
  readonly end: Lines
  readonly finalNewline: string
  readonly width: number
  readonly step: number
}

const habits: fc.Arbitrary<Habits> = fc.record({
  eol: pick('\n', '\n', '\r\n'),
  bom: pick('', '', '', '\ufeff'),
  start: pick<Lines>(
    [],
    [],
    ['# Ours.'],
    ['---'],
    ['# x', '--- # y'],
    ['%YAML 1.2', '---'],
    ['%YAML 1.1', '---'],
    ['', ''],
  ),
  end: pick<Lines>([], [], [], ['# the end'], ['', ''], ['...'], ['', '# vim: et', '']),
  finalNewline: pick('end', 'end', ''),
  width: pick(1, 2, 2, 4, 3),
  step: pick(1, 2, 2, 4, 3),
})

/** tools.yaml as people write it: in every style that YAML allows, and in some that it does not. */
export const handEdited: fc.Arbitrary<string> = fc
  .record({
    habits,
    anchors: pick(ANCHORS, ANCHORS, ANCHORS, ANCHORS, ANCHORS, []),
    categories,
    toolsSection,
    before: others,
    after: others,
  })
  .map(({ habits: { eol, bom, start, end, finalNewline, width, step }, ...parts }) => {
    const after = parts.after.filter((line) => !parts.before.includes(line) || !/^[\w"]/.test(line))
    const lines = [
      ...start,
      ...parts.anchors,
      ...parts.before,
      ...parts.categories,
      ...parts.toolsSection(width, step),
      ...after,
      ...end,
    ]
    return bom + lines.join(eol) + (finalNewline === '' || lines.length === 0 ? '' : eol)
  })

/** The same with a typo in it. */
export const withTypo: fc.Arbitrary<string> = fc
  .tuple(
    handEdited,
    fc.nat(),
    pick('"', "'", '[', '{', '}', ']', '|', ':', '#', ' ', '\n', '\t', '\r', '*', '&', '- ', ', '),
    fc.nat(2),
  )
  .map(([text, position, typo, removed]) => {
    const at = position % (text.length + 1)
    return text.slice(0, at) + typo + text.slice(at + removed)
  })
