// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { HOST, hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { claudeCode } from './claude-code.ts'

const USER_FILE = `{
  "numStartups": 412,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" },
      "oauth": { "clientId": "x" }
    },
    "db": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@my/db-mcp", "--url=\${DB_URL:-sqlite:}"],
      "env": { "LEVEL": "debug" },
      "timeout": 90000,
      "alwaysLoad": true
    },
    "live": { "type": "ws", "url": "wss://example.com/mcp" }
  },
  "projects": {
    "/srv/app": { "allowedTools": [], "mcpServers": { "notes": { "command": "./notes", "args": [] } } },
    "/srv/other": { "mcpServers": { "secret": { "command": "x" } } }
  }
}`

describe(`Claude Code (${promise('AG-1')})`, () => {
  it('has a file of the user, one of the project, and in the former a part for the folder', () => {
    expect(listNativeFiles(claudeCode)).toEqual([
      'user /home/ada/.claude.json',
      'project /srv/app/.mcp.json',
      'local /home/ada/.claude.json',
    ])
    expect(claudeCode.defaultMcpConfigPath(HOST)).toBe('/home/ada/.claude.json')
    const moved = hostWith({ environment: { CLAUDE_CONFIG_DIR: '/etc/claude' } })
    expect(claudeCode.defaultMcpConfigPath(moved)).toBe('/etc/claude/.claude.json')
  })

  it('keeps the servers of the user, of the folder, and of other folders apart', () => {
    expect(parseNativeText(claudeCode, USER_FILE).servers.map(({ name }) => name)).toEqual(['github', 'db', 'live'])
    expect(parseNativeText(claudeCode, USER_FILE, 'local').servers.map(({ name }) => name)).toEqual(['notes'])
    expect(parseNativeText(claudeCode, '{"numStartups": 1}', 'local').servers).toEqual([])
  })

  it('is translated into our entries', () => {
    expect(importNativeText(claudeCode, USER_FILE)).toEqual({
      servers: {
        github: {
          url: 'https://api.githubcopilot.com/mcp/',
          headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' },
        },
        db: {
          command: 'npx',
          args: ['-y', '@my/db-mcp', '--url=${DB_URL:-sqlite:}'],
          env: { LEVEL: 'debug' },
          timeouts: { call: '90s' },
        },
        live: 'the gateway does not support its type.',
      },
      notes: ['github: "oauth" is left out: the gateway does not sign in by OAuth. Put a token into "headers".'],
    })
    expect(importNativeText(claudeCode, USER_FILE, 'local')).toEqual({
      servers: { notes: { command: './notes' } },
      notes: ['notes: A path is relative to the folder in which the agent starts. Write the full path.'],
    })
  })

  it('has no filter for single tools in its entries, so the gateway filters them', () => {
    const { config, wrap } = claudeCode.filterAvailableMcpTools(
      parseNativeText(claudeCode, USER_FILE),
      ['db/query'],
      [],
    )
    expect(config.servers).toEqual([])
    expect(wrap).toEqual([{ name: 'db', why: 'The agent has no filter of its own for single tools.' }])
  })
})
