// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { opencode } from './opencode.ts'

const FILE = `{
  "$schema": "https://opencode.ai/config.json",
  "theme": "system", // quiet
  "mcp": {
    "files": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/\${not-a-variable}"],
      "environment": { "TOKEN": "{env:FILES_TOKEN}", "KEY": "{file:~/.key}" },
      "enabled": true,
    },
    "sentry": { "type": "remote", "url": "https://mcp.sentry.dev/mcp", "oauth": false, "enabled": false, "timeout": 5000 },
  },
}`

describe('OpenCode', () => {
  it('has files with and without comments, of the user and of the project', () => {
    expect(listNativeFiles(opencode)).toEqual([
      'user /home/ada/.config/opencode/opencode.json',
      'user /home/ada/.config/opencode/opencode.jsonc',
      'project /srv/app/opencode.json',
      'project /srv/app/opencode.jsonc',
      'user /home/ada/.opencode/opencode.json',
      'user /home/ada/.opencode/opencode.jsonc',
    ])
    const moved = hostWith({ environment: { XDG_CONFIG_HOME: '/x', OPENCODE_CONFIG: '/one.json' } })
    expect(listNativeFiles(opencode, moved)).toContain('user /x/opencode/opencode.json')
    expect(listNativeFiles(opencode, moved)).toContain('user /one.json')
  })

  it('is translated into our entries, its environment with it', () => {
    expect(importNativeText(opencode, FILE)).toEqual({
      servers: {
        files: {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv/$${not-a-variable}'],
          env: { TOKEN: '${FILES_TOKEN}', KEY: '{file:~/.key}' },
        },
        sentry: { url: 'https://mcp.sentry.dev/mcp', timeouts: { call: '5s' }, enabled: false },
      },
      notes: [
        'files: A reference has no counterpart and stays as plain text.',
        'sentry: It is disabled in the agent, and so it is here.',
      ],
    })
  })

  it('keeps $schema and all else if servers are removed', () => {
    const { document } = opencode.filterAvailableMcpTools(parseNativeText(opencode, FILE), ['sentry'], []).config
    expect(document).toEqual({
      $schema: 'https://opencode.ai/config.json',
      theme: 'system',
      mcp: { sentry: parseNativeText(opencode, FILE).servers[1]?.entry },
    })
  })
})
