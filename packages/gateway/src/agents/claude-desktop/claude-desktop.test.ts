// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText } from '../adapter.test-kit.ts'
import { claudeDesktop } from './claude-desktop.ts'

describe('Claude Desktop', () => {
  it.each([
    ['linux', '/home/ada', {}, '/home/ada/.config/Claude/claude_desktop_config.json'],
    ['darwin', '/Users/ada', {}, '/Users/ada/Library/Application Support/Claude/claude_desktop_config.json'],
    ['win32', 'C:\\Users\\ada', {}, 'C:\\Users\\ada\\AppData\\Roaming\\Claude\\claude_desktop_config.json'],
    ['win32', 'C:\\Users\\ada', { APPDATA: 'D:\\Roaming' }, 'D:\\Roaming\\Claude\\claude_desktop_config.json'],
  ] as const)('has its file where %s keeps settings', (platform, home, environment, path) => {
    expect(claudeDesktop.defaultMcpConfigPath(hostWith({ platform, home, environment }))).toBe(path)
  })

  it('expands no variables, and neither do we', () => {
    const file = '{"globalShortcut": "", "mcpServers": {"fs": {"command": "npx", "args": ["srv", "${HOME}"]}}}'
    expect(importNativeText(claudeDesktop, file)).toEqual({
      servers: { fs: { command: 'npx', args: ['srv', '$${HOME}'] } },
      notes: [],
    })
  })
})
