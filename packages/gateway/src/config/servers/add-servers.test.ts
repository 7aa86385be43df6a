// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are part of what is tested.

import fc from 'fast-check'
import { load } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { parseTree } from '../reading/located-tree.ts'
import { addServers, type NewServer, type ParsedConfig } from './add-servers.ts'
import { readWrittenServers } from './written-servers.ts'

const FILES: NewServer = {
  id: 'files',
  entry: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/data'] },
  comment: ['from claude-code'],
}

const parsed = (text: string): ParsedConfig => ({ text, tree: parseTree(text) })

const added = (text: string, servers: readonly NewServer[] = [FILES]): string => {
  const result = addServers(parsed(text), servers)
  if (!result.ok) throw new Error(result.why)
  return result.text
}

const BLOCK = `  # from claude-code
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", /data]
`

describe('adding servers to a config', () => {
  it('starts a new file with a header', () => {
    expect(added('')).toMatch(/^# The servers behind the gateway/)
    expect(added('').endsWith(`mcp_servers:\n${BLOCK}`)).toBe(true)
  })

  it('puts them after the last server, before the comments of the next section', () => {
    const text = `# mine
gateway: { port: 4000 }   # odd

mcp_servers:
  clock: { command: clock }   # ticks
  # more to come

# rules
governance:
  enforce: true
`
    expect(added(text)).toBe(text.replace('  # more to come\n', `  # more to come\n${BLOCK}`))
  })

  it.each([
    ['with a blank line between servers', 'mcpServers:\n    a:\n        command: x\n\n    b:\n        command: y\n'],
    ['without a line break at the end', 'mcp_servers:\n  a:\n    command: x'],
    ['with Windows line ends', 'mcp_servers:\r\n  a:\r\n    command: x\r\naudit: {}\r\n'],
    ['without servers', 'mcp_servers:\ngateway:\n  port: 1\n'],
    ['without the section', 'gateway:\n  port: 1\n'],
    ['with only comments', '# nothing yet\n'],
    [
      'with a text that keeps its line breaks',
      'mcp_servers:\n  a:\n    command: x\n    description: |+\n      hi\n\n\naudit: {}\n',
    ],
    ['with an entry that is empty', 'mcp_servers:\n  a:\n'],
    ['with anchors', 'mcp_servers:\n  a: &a\n    command: x\n  b: *a\n'],
    ['in braces', 'mcp_servers: { a: { command: x } }\ngateway: {}\n'],
    ['in JSON', '{\n  "mcpServers": {\n    "a": { "command": "x" }\n  },\n  "gateway": {}\n}\n'],
    ['in JSON without servers', '{\n  "gateway": { "port": 1 }\n}\n'],
    ['in empty JSON', '{}'],
    ['with an explicit document', '---\nmcp_servers:\n  a: {command: x}\n'],
    ['with a byte order mark', '\ufeffmcp_servers:\n  a: {command: x}\n'],
  ])('preserves all other bytes of a file %s', (_kind, text) => {
    const result = added(text)
    const before = readWrittenServers('c', parseTree(text))
    const after = readWrittenServers('c', parseTree(result))
    if (!before.ok || !after.ok) throw new Error('unreadable')
    expect([...after.servers.keys()]).toEqual([...before.servers.keys(), 'files'])
    expect(Object.fromEntries(after.servers)).toEqual({ ...Object.fromEntries(before.servers), files: FILES.entry })
    expect(isSubsequenceInOnePlace(text, result)).toBe(true)
  })

  it('replaces the braces of an empty section', () => {
    expect(added('mcp_servers: {}   # none yet\naudit: {}\n')).toBe(`mcp_servers:   # none yet\n${BLOCK}audit: {}\n`)
  })

  it('writes JSON into JSON', () => {
    expect(JSON.parse(added('{"mcpServers":{"a":{"command":"x"}}}'))).toEqual({
      mcpServers: { a: { command: 'x' }, files: FILES.entry },
    })
  })

  it.each([
    ['that cannot be read', 'a: [', 'it cannot be read'],
    ['that is a list', '- a\n', 'it is not a mapping, or its mcp_servers is not a mapping'],
    ['whose section is a string', 'mcp_servers: x\n', 'it is not a mapping, or its mcp_servers is not a mapping'],
    ['whose section is an alias', 'a: &a { x: { command: y } }\nmcp_servers: *a\n', undefined],
    ['that has ended', 'mcp_servers:\n  a: {command: x}\n...\n', undefined],
  ])('does not change a file %s, or changes it correctly', (_kind, text, why) => {
    const result = addServers(parsed(text), [FILES])
    if (why !== undefined) expect(result).toEqual({ ok: false, why })
    else if (result.ok) expect(readWrittenServers('c', parseTree(result.text))).toMatchObject({ ok: true })
  })

  it('writes every string so that YAML 1.1 and 1.2 read it back', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom(
        'yes',
        'no',
        '~',
        'null',
        '1e3',
        '0x1f',
        '012',
        '1:30',
        '-',
        '#x',
        'a: b',
        'a #b',
        '${X}',
        '$${X}',
      ),
      fc.constantFrom(
        '[',
        '{a}',
        '*a',
        '&a',
        '!x',
        '%x',
        '@x',
        '`',
        "'",
        '"',
        '\u2028',
        '\r\n',
        '<<',
        '=',
        '.5',
        '+1',
        'é',
      ),
    )
    // Merge keys are always refused.
    const name = fc.oneof(hostile, fc.constantFrom('__proto__', 'constructor')).filter((one) => one !== '<<')
    fc.assert(
      fc.property(
        hostile,
        fc.array(hostile, { maxLength: 8 }),
        fc.dictionary(name, hostile, { maxKeys: 4 }),
        (command, args, env) => {
          const entry = { command, args, env: Object.fromEntries(Object.entries(env)) }
          const text = added('# mine\nmcp_servers:\n  a: {command: x}\n', [{ id: 'new', entry, comment: [] }])
          const read = readWrittenServers('c', parseTree(text))
          expect(read.ok && read.servers.get('new')).toEqual(entry)
          if (!Object.keys(env).some((key) => key === '__proto__'))
            expect((load(text) as { mcp_servers: Record<string, unknown> }).mcp_servers.new).toEqual(entry)
        },
      ),
    )
  })
})

/** Whether the second text is the first one with an insertion at one position. */
function isSubsequenceInOnePlace(before: string, after: string): boolean {
  let head = 0
  while (head < before.length && before[head] === after[head]) head++
  let tail = 0
  while (tail < before.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++
  return head + tail === before.length
}
