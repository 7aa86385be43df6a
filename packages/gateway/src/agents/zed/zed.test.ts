import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { zed } from './zed.ts'

const FILE = `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "new": { "source": "custom", "enabled": false, "command": "npx", "args": ["srv"], "env": {} },
    "old": { "command": { "path": "/bin/srv", "args": ["--stdio"], "env": { "A": "b" } }, "settings": {} },
    "remote": { "url": "https://h/mcp", "headers": { "Authorization": "Bearer x" } },
    "ext": { "source": "extension", "enabled": true, "settings": {} },
  },
}`

describe('Zed', () => {
  it('has a file of the user and one of the project', () => {
    expect(listNativeFiles(zed)).toEqual([
      'user /home/ada/.config/zed/settings.json',
      'project /srv/app/.zed/settings.json',
    ])
    const mac = hostWith({ platform: 'darwin', environment: { XDG_CONFIG_HOME: '/x' } })
    expect(zed.defaultMcpConfigPath(mac)).toBe('/home/ada/.config/zed/settings.json')
  })

  it('is translated into our entries, in its older format too', () => {
    expect(importNativeText(zed, FILE)).toEqual({
      servers: {
        new: { command: 'npx', args: ['srv'], enabled: false },
        old: { command: '/bin/srv', args: ['--stdio'], env: { A: 'b' } },
        remote: { url: 'https://h/mcp', headers: { Authorization: 'Bearer x' } },
        ext: 'it is part of an extension of Zed.',
      },
      notes: [
        'new: It is disabled in the agent, and so it is here.',
        'old: "settings" is left out: these are settings of an extension.',
      ],
    })
  })
})
