// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { copilot } from './copilot.ts'

const FILE = `{
  "mcpServers": {
    "all": { "type": "local", "command": "npx", "args": ["srv"], "env": { "KEY": "$KEY" }, "tools": ["*"] },
    "some": { "type": "http", "url": "https://h/mcp", "headers": { "K": "\${K:-none}" }, "tools": ["a", "b"], "timeout": 1000 },
    "none": { "type": "sse", "url": "https://h/sse", "tools": [] }
  }
}`

describe('Copilot CLI', () => {
  it('has a file of the user and two of the project', () => {
    expect(listNativeFiles(copilot)).toEqual([
      'user /home/ada/.copilot/mcp-config.json',
      'project /srv/app/.mcp.json',
      'project /srv/app/.github/mcp.json',
    ])
    const moved = hostWith({ environment: { COPILOT_HOME: '/c' } })
    expect(copilot.defaultMcpConfigPath(moved)).toBe('/c/mcp-config.json')
  })

  it('is translated into our entries: a star means all tools, an empty list none', () => {
    expect(importNativeText(copilot, FILE).servers).toEqual({
      all: { command: 'npx', args: ['srv'], env: { KEY: '${KEY}' } },
      some: {
        url: 'https://h/mcp',
        headers: { K: '${K:-none}' },
        timeouts: { call: '1s' },
        include_tools: ['a', 'b'],
      },
      none: { type: 'sse', url: 'https://h/sse', include_tools: [] },
    })
  })

  it('narrows a server with its own list', () => {
    const { config } = copilot.filterAvailableMcpTools(
      parseNativeText(copilot, FILE),
      ['all/x', 'some/b', 'some/c', 'none/a'],
      [],
    )
    expect(config.servers.map(({ name, entry }) => [name, entry.tools])).toEqual([
      ['all', ['x']],
      ['some', ['b']],
    ])
  })
})
