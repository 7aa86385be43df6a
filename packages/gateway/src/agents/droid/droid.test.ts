// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { droid } from './droid.ts'

describe('Droid', () => {
  it('has a file of the user and one of the project', () => {
    expect(listNativeFiles(droid)).toEqual(['user /home/ada/.factory/mcp.json', 'project /srv/app/.factory/mcp.json'])
    const moved = hostWith({ environment: { FACTORY_HOME_OVERRIDE: '/f' } })
    expect(droid.defaultMcpConfigPath(moved)).toBe('/f/.factory/mcp.json')
  })

  it('is translated into our entries', () => {
    const file = `{"mcpServers": {
      "linear": {"type": "http", "url": "https://mcp.linear.app/mcp", "headers": {"A": "\${T:-t}"}, "disabled": false},
      "fs": {"type": "stdio", "command": "npx", "args": ["srv"], "disabled": true}}}`
    expect(importNativeText(droid, file).servers).toEqual({
      linear: { url: 'https://mcp.linear.app/mcp', headers: { A: '${T:-t}' } },
      fs: { command: 'npx', args: ['srv'], enabled: false },
    })
  })
})
