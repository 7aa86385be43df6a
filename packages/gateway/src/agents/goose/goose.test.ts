// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { goose } from './goose.ts'

const FILE = `# Goose
GOOSE_PROVIDER: anthropic
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  github:
    type: stdio
    name: GitHub
    display_name: GitHub tools
    description: Issues and more
    cmd: npx
    args: [-y, "@modelcontextprotocol/server-github"]
    envs: { LEVEL: info, PORT: 8080 }
    env_keys: [GITHUB_TOKEN]
    timeout: 300
    enabled: false
    available_tools: []
  web: { type: streamable_http, uri: "https://web.example/mcp", headers: { A: b }, available_tools: [fetch] }
`

describe('Goose', () => {
  it('has one file, in the platform’s settings folder', () => {
    expect(listNativeFiles(goose)).toEqual(['user /home/ada/.config/goose/config.yaml'])
    const windows = hostWith({ platform: 'win32', home: 'C:\\Users\\ada', environment: { APPDATA: 'C:\\Roaming' } })
    expect(goose.defaultMcpConfigPath(windows)).toBe('C:\\Roaming\\Block\\goose\\config\\config.yaml')
  })

  it('is translated into our entries; built-in extensions are not servers', () => {
    expect(importNativeText(goose, FILE)).toEqual({
      servers: {
        github: {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-github'],
          env: { LEVEL: 'info', PORT: '8080', GITHUB_TOKEN: '${GITHUB_TOKEN}' },
          title: 'GitHub tools',
          description: 'Issues and more',
          timeouts: { call: '300s' },
          enabled: false,
        },
        web: { url: 'https://web.example/mcp', headers: { A: 'b' }, include_tools: ['fetch'] },
      },
      notes: ['github: It is disabled in the agent, and so it is here.'],
    })
    expect(parseNativeText(goose, FILE).builtInNames).toEqual(['developer'])
  })

  it('narrows a server with its own list; an empty list means all', () => {
    const { config } = goose.filterAvailableMcpTools(parseNativeText(goose, FILE), ['github/search', 'web/post'], [])
    expect(config.servers.map(({ name, entry }) => [name, entry.available_tools])).toEqual([['github', ['search']]])
    expect(Object.keys(config.document.extensions ?? {})).toEqual(['developer', 'github'])
  })
})
