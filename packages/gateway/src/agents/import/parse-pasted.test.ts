import { describe, expect, it } from 'vitest'
import { findAdapter } from '../registry.ts'
import { parsePastedServers } from './parse-pasted.ts'

const host = { environment: {}, platform: 'linux', home: '/home/ann', cwd: '/work' } as const

const parse = (text: string, options: { readonly agent?: string; readonly name?: string } = {}) =>
  parsePastedServers({
    ...{ text, host, name: options.name },
    adapter: options.agent === undefined ? undefined : findAdapter(options.agent),
  }).map(({ name, server }) => [name, server.ok ? server.config : server.why])

const GITHUB = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-github'] }

describe('pasted text', () => {
  it.each([
    ['a file of Claude Code or Cursor', JSON.stringify({ mcpServers: { github: GITHUB } })],
    ['a file of VS Code, with comments', `{\n  // ours\n  "servers": {"github": ${JSON.stringify(GITHUB)},},\n}`],
    [
      'a file of Codex',
      '[mcp_servers.github]\ncommand = "npx"\nargs = ["-y", "@modelcontextprotocol/server-github"]\n',
    ],
    ['a part without braces', `"github": ${JSON.stringify(GITHUB)},`],
    ['a map of servers', JSON.stringify({ github: GITHUB })],
    ['our own format', `mcp_servers:\n  github:\n    command: npx\n    args: ["-y", "${GITHUB.args[1]}"]\n`],
  ])('is read as %s', (_what, text) => {
    expect(parse(text)).toEqual([['github', expect.objectContaining(GITHUB)]])
  })

  it('may be a single entry, which gets the given name', () => {
    expect(parse(JSON.stringify(GITHUB), { name: 'gh' })).toEqual([['gh', expect.objectContaining(GITHUB)]])
    expect(parse('{"url": "https://example.com/mcp"}')).toEqual([
      ['server', expect.objectContaining({ url: 'https://example.com/mcp' })],
    ])
  })

  it('may be in the format of one agent only', () => {
    const text = JSON.stringify({ mcp: { github: { type: 'local', command: ['npx', 'x'], enabled: true } } })
    expect(parse(text, { agent: 'opencode' })[0]?.[0]).toBe('github')
  })

  it.each([
    '',
    'hello',
    '[]',
    '{}',
    '{"a": 1}',
    '{"mcpServers": {}}',
    '{'.repeat(5_000),
    '{"__proto__": {"command": "x"}',
  ])('without a server is refused: %s', (text) => {
    expect(() => parse(text)).toThrow('No server was found')
  })
})
