import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { kimi } from './kimi.ts'

const FILE = `{"mcpServers": {
  "context7": {"type": "http", "url": "https://mcp.context7.com/mcp", "headers": {"K": "$K"}, "toolTimeoutMs": 60000},
  "fs": {"command": "npx", "args": ["srv"], "startupTimeoutMs": 500, "enabledTools": ["read"], "disabledTools": ["rm"]}
}}`

describe('Kimi Code', () => {
  it('has a file of the user and two of the project', () => {
    expect(listNativeFiles(kimi)).toEqual([
      'user /home/ada/.kimi-code/mcp.json',
      'project /srv/app/.mcp.json',
      'project /srv/app/.kimi-code/mcp.json',
    ])
    expect(kimi.defaultMcpConfigPath(hostWith({ environment: { KIMI_CODE_HOME: '/k' } }))).toBe('/k/mcp.json')
  })

  it('is translated into our entries; it has no variables', () => {
    expect(importNativeText(kimi, FILE).servers).toEqual({
      context7: { url: 'https://mcp.context7.com/mcp', headers: { K: '$K' }, timeouts: { call: '60s' } },
      fs: {
        command: 'npx',
        args: ['srv'],
        timeouts: { startup: '500ms' },
        include_tools: ['read'],
        exclude_tools: ['rm'],
      },
    })
  })

  it('narrows a server with its own lists', () => {
    const { config } = kimi.filterAvailableMcpTools(
      parseNativeText(kimi, FILE),
      ['fs', '!fs/write', 'context7/get'],
      [],
    )
    expect(config.servers.map(({ entry }) => [entry.enabledTools, entry.disabledTools])).toEqual([
      [['get'], undefined],
      [['read'], ['rm', 'write']],
    ])
  })
})
