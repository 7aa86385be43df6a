// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseTree } from '../reading/located-tree.ts'
import { editServers, type ServerChange } from './edit-servers.ts'

const FILE = `# Our servers.
gateway: { port: 4848 }   # not the usual one

mcp_servers:
  # Notes of the team; ask Ann before you change it.
  notes:
    command: npx
    args: ["-y", "@my/notes"] # pinned elsewhere
    env:
      # the key is in the environment
      KEY: \${NOTES_KEY}

  # Two databases.
  database: { command: db-mcp, args: [--read-only] } # small
  web:
    url: https://example.com/mcp
    enabled: false   # until the contract is signed

# The end.
audit: {durability: power}
`

function edit(text: string, ...changes: readonly ServerChange[]): string {
  const result = editServers({ text, tree: parseTree(text) }, changes)
  if (!result.ok) throw new Error(result.why)
  return result.text
}

const why = (text: string, ...changes: readonly ServerChange[]): string => {
  const result = editServers({ text, tree: parseTree(text) }, changes)
  return result.ok ? 'ok' : result.why
}

describe('a change of one server', () => {
  it('removes its lines and the comment right above it', () => {
    expect(edit(FILE, { kind: 'remove', id: 'notes' })).toBe(FILE.replace(/ {2}# Notes of[\s\S]*NOTES_KEY\}\n\n/, ''))
    expect(edit(FILE, { kind: 'remove', id: 'database' })).toBe(FILE.replace(/ {2}# Two[\s\S]*# small\n/, ''))
    expect(edit(FILE, { kind: 'remove', id: 'web' })).toBe(FILE.replace(/ {2}web:[\s\S]*signed\n/, ''))
  })

  it('leaves an empty section when the last one is removed', () => {
    const ids = ['notes', 'database', 'web']
    const left = edit(FILE, ...ids.map((id) => ({ kind: 'remove', id }) as const))
    expect(left).toContain('mcp_servers: {}\n')
    expect(left).toContain('# The end.\naudit: {durability: power}\n')
    expect(edit(left, { kind: 'add', id: 'one', entry: { command: 'x' } })).toContain('  one:\n    command: x\n')
  })

  it('changes, adds and removes single members of a mapping, and keeps the comments between them', () => {
    const file = FILE.replace(
      'KEY: ${NOTES_KEY}\n',
      'KEY: ${NOTES_KEY}\n      LEVEL: info # or debug\n      PORT: 8080\n',
    )
    const env = { KEY: '${NOTES_KEY}', LEVEL: 'debug', REGION: 'eu' }
    expect(edit(file, { kind: 'change', id: 'notes', fields: { env } })).toBe(
      file.replace('LEVEL: info', 'LEVEL: debug').replace('PORT: 8080', 'REGION: eu'),
    )
    const flow = FILE.replace(
      'url: https://example.com/mcp',
      'headers: {A: one, B: two} # both are needed\n    url: https://example.com/mcp',
    )
    expect(edit(flow, { kind: 'change', id: 'web', fields: { headers: { A: 'one', B: 'three' } } })).toBe(
      flow.replace('B: two', 'B: "three"'),
    )
  })

  it('changes, adds and removes single items of a list, and keeps the comments between them', () => {
    const list = [
      'args:',
      '      - -y',
      '      # the team’s own',
      '      - "@my/notes" # pinned elsewhere',
      '      - --fast',
      '',
    ]
    const file = FILE.replace('args: ["-y", "@my/notes"] # pinned elsewhere\n', list.join('\n'))
    const change = (...args: readonly string[]) => edit(file, { kind: 'change', id: 'notes', fields: { args } })
    expect(change('-y', '@my/notes@2', '--fast')).toBe(file.replace('"@my/notes" #', '"@my/notes@2" #'))
    expect(change('-y', '@my/notes', '--fast', '--more')).toBe(file.replace('--fast\n', '--fast\n      - "--more"\n'))
    expect(change('-y', '@my/notes')).toBe(file.replace('      - --fast\n', ''))
    expect(change('--new', '-y', '@my/notes', '--fast')).toBe(
      file.replace('      - -y\n', '      - "--new"\n      - -y\n'),
    )
    expect(edit(FILE, { kind: 'change', id: 'notes', fields: { args: ['-q', '@my/notes'] } })).toBe(
      FILE.replace('["-y", "@my/notes"] #', '["-q", "@my/notes"] #'),
    )
  })

  it('enables and disables it, and keeps comments', () => {
    expect(edit(FILE, { kind: 'enable', id: 'web', enabled: true })).toBe(
      FILE.replace('enabled: false   #', 'enabled: true   #'),
    )
    expect(edit(FILE, { kind: 'enable', id: 'notes', enabled: false })).toBe(
      FILE.replace('{NOTES_KEY}\n', '{NOTES_KEY}\n    enabled: false\n'),
    )
    expect(edit(FILE, { kind: 'enable', id: 'database', enabled: false })).toBe(
      FILE.replace('[--read-only] }', '[--read-only], enabled: false }'),
    )
    expect(edit(FILE, { kind: 'enable', id: 'notes', enabled: true })).toBe(FILE)
    const disabled = 'mcp_servers:\n  a: {command: x, disabled: true}\n'
    expect(edit(disabled, { kind: 'enable', id: 'a', enabled: true })).toBe(disabled.replace('true', 'false'))
  })

  it('sets, adds and removes fields in the spelling of the file', () => {
    const text = 'mcp_servers:\n  a:\n    command: x # here\n    excludeTools: [b] # why\n    per: session\n'
    expect(edit(text, { kind: 'change', id: 'a', fields: { exclude_tools: ['b', 'c'], per: null, cwd: '/tmp' } })).toBe(
      'mcp_servers:\n  a:\n    command: x # here\n    excludeTools: [b, c] # why\n    cwd: /tmp\n',
    )
  })

  it('works in a JSON file', () => {
    const json = '{\n  "mcpServers": {\n    "a": {"command": "x"},\n    "b": {"command": "y"}\n  }\n}\n'
    expect(edit(json, { kind: 'remove', id: 'b' })).toBe('{\n  "mcpServers": {\n    "a": {"command": "x"}\n  }\n}\n')
    expect(edit(json, { kind: 'remove', id: 'a' })).toBe('{\n  "mcpServers": {\n    "b": {"command": "y"}\n  }\n}\n')
    const off = edit(json, { kind: 'enable', id: 'a', enabled: false })
    expect(JSON.parse(off)).toEqual({ mcpServers: { a: { command: 'x', enabled: false }, b: { command: 'y' } } })
  })

  it('is refused if the server exists already, does not exist, or is written once for two', () => {
    expect(why(FILE, { kind: 'add', id: 'web', entry: {} })).toBe('it already has a server "web"')
    expect(why(FILE, { kind: 'remove', id: 'Web' })).toBe('it has no server "Web"')
    expect(why('mcp_servers: {a: *b}\n', { kind: 'remove', id: 'a' })).toBe('it cannot be read')
    const shared = 'mcp_servers:\n  a: &same\n    command: x\n  b: *same\n'
    expect(why(shared, { kind: 'remove', id: 'a' })).toContain('does not allow this change')
    expect(why(shared, { kind: 'enable', id: 'b', enabled: false })).toContain('does not allow this change')
  })
})

it('no sequence of changes touches a byte of what it is not about', () => {
  const id = fc.constantFrom('notes', 'database', 'web', 'new-one')
  const change: fc.Arbitrary<ServerChange> = fc.oneof(
    fc.record({ kind: fc.constant('remove' as const), id }),
    fc.record({ kind: fc.constant('enable' as const), id, enabled: fc.boolean() }),
    fc.record({
      kind: fc.constant('change' as const),
      id,
      fields: fc.record({ cwd: fc.string(), args: fc.array(fc.string()), title: fc.constant(null) }),
    }),
    fc.record({ kind: fc.constant('add' as const), id, entry: fc.record({ command: fc.string({ minLength: 1 }) }) }),
  )
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), (changes) => {
      let text = FILE
      for (const one of changes) {
        const result = editServers({ text, tree: parseTree(text) }, [one])
        if (result.ok) text = result.text
      }
      expect(text.startsWith('# Our servers.\ngateway: { port: 4848 }   # not the usual one\n')).toBe(true)
      expect(text.endsWith('# The end.\naudit: {durability: power}\n')).toBe(true)
      expect(parseTree(text).problems).toEqual([])
    }),
  )
})

it('whatever the members of a mapping and a list become, the comments of those that stay do too', () => {
  const file = FILE.replace(
    'args: ["-y", "@my/notes"] # pinned elsewhere\n',
    'args:\n      - first # of all\n      # between\n      - last # of all\n',
  ).replace('KEY: ${NOTES_KEY}\n', 'KEY: ${NOTES_KEY} # as in the vault\n      LEVEL: info\n')
  const list = fc.array(fc.string(), { maxLength: 3 })
  const env = fc.dictionary(fc.constantFrom('A', 'LEVEL', 'a key'), fc.string())
  fc.assert(
    fc.property(list, env, (middle, members) => {
      const fields = { args: ['first', ...middle, 'last'], env: { KEY: '${NOTES_KEY}', ...members } }
      const text = edit(file, { kind: 'change', id: 'notes', fields })
      for (const kept of [
        '- first # of all\n',
        '- last # of all\n',
        '      # between\n',
        'KEY: ${NOTES_KEY} # as in the vault\n',
      ])
        expect(text).toContain(kept)
      const [before = '', after = ''] = file.split(/ {4}args:[\s\S]*LEVEL: info\n/)
      expect(text.startsWith(before) && text.endsWith(after)).toBe(true)
    }),
  )
})
