// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { geminiCli } from './gemini-cli.ts'

const FILE = `{
  // what I use every day
  "general": { "vimMode": true },
  "mcp": { "allowed": ["search"] },
  "mcpServers": {
    "search": {
      "httpUrl": "https://search.example/mcp",
      "headers": { "X-Key": "$SEARCH_KEY", "X-Mix": "a-\${REGION:-eu}-b" },
      "timeout": 600000,
      "trust": true,
      "includeTools": ["find", "open"],
    },
    "old": { "url": "https://old.example/sse" },
    "local": { "command": "python", "args": ["-m", "srv"], "cwd": "/srv", "excludeTools": ["rm"], "description": "mine" },
  },
}`

describe('Gemini CLI', () => {
  it('has a file of the user and one of the project', () => {
    expect(listNativeFiles(geminiCli)).toEqual([
      'user /home/ada/.gemini/settings.json',
      'project /srv/app/.gemini/settings.json',
    ])
    const moved = hostWith({ environment: { GEMINI_CLI_HOME: '/g' } })
    expect(geminiCli.defaultMcpConfigPath(moved)).toBe('/g/.gemini/settings.json')
  })

  it('is translated into our entries: a url is SSE, an httpUrl is not', () => {
    expect(importNativeText(geminiCli, FILE)).toEqual({
      servers: {
        search: {
          url: 'https://search.example/mcp',
          headers: { 'X-Key': '${SEARCH_KEY}', 'X-Mix': 'a-${REGION:-eu}-b' },
          timeouts: { call: '600s' },
          include_tools: ['find', 'open'],
        },
        old: { type: 'sse', url: 'https://old.example/sse' },
        local: { command: 'python', args: ['-m', 'srv'], cwd: '/srv', description: 'mine', exclude_tools: ['rm'] },
      },
      notes: ['search: "trust" is left out: define in tools.yaml which tools need approval.'],
    })
  })

  it('narrows a server with its own lists', () => {
    const config = parseNativeText(geminiCli, FILE)
    const tools = [
      { server: 'local', tool: 'ls' },
      { server: 'local', tool: 'rm' },
      { server: 'local', tool: 'rmdir' },
    ]
    const { config: left } = geminiCli.filterAvailableMcpTools(config, ['local', '!local/rm*', 'search/open'], tools)
    expect(left.servers).toEqual([
      { name: 'search', entry: { ...config.servers[0]?.entry, includeTools: ['open'] } },
      { name: 'local', entry: { ...config.servers[2]?.entry, includeTools: ['ls'] } },
    ])
  })
})
