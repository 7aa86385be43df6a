// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { crush } from './crush.ts'

const FILE = `{"$schema": "https://charm.land/crush.json", "mcp": {
  "fs": {"type": "stdio", "command": "node", "args": ["srv.js"], "timeout": 120, "disabled": false, "disabled_tools": ["rm"]},
  "gh": {"type": "http", "url": "https://h/mcp", "headers": {"A": "Bearer $GH_PAT", "B": "$(cat /run/key)"}}
}}`

describe('Crush', () => {
  it('has a file of the user and two of the project', () => {
    expect(listNativeFiles(crush)).toEqual([
      'user /home/ada/.config/crush/crush.json',
      'project /srv/app/crush.json',
      'project /srv/app/.crush.json',
    ])
    expect(crush.defaultMcpConfigPath(hostWith({ environment: { CRUSH_GLOBAL_CONFIG: '/c' } }))).toBe('/c/crush.json')
  })

  it('is translated into our entries; commands in values are not run', () => {
    expect(importNativeText(crush, FILE)).toEqual({
      servers: {
        fs: { command: 'node', args: ['srv.js'], timeouts: { call: '120s' }, exclude_tools: ['rm'] },
        gh: { url: 'https://h/mcp', headers: { A: 'Bearer ${GH_PAT}', B: '$(cat /run/key)' } },
      },
      notes: ['gh: A reference has no counterpart and stays as plain text.'],
    })
  })
})
