// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { kilo } from './kilo.ts'

describe('Kilo', () => {
  it('has files with and without comments, of the user and of the project', () => {
    const moved = hostWith({ environment: { KILO_CONFIG: 'mine.json', XDG_CONFIG_HOME: 'relative' } })
    expect(listNativeFiles(kilo, moved)).toEqual([
      'user /home/ada/.config/kilo/kilo.json',
      'user /home/ada/.config/kilo/kilo.jsonc',
      'user /srv/app/mine.json',
      'project /srv/app/kilo.json',
      'project /srv/app/kilo.jsonc',
      'project /srv/app/.kilocode/mcp.json',
      'project /srv/app/.kilo/mcp.json',
      'user /home/ada/.kilocode/opencode.json',
      'user /home/ada/.kilocode/opencode.jsonc',
      'user /home/ada/.kilocode/kilo.json',
      'user /home/ada/.kilocode/kilo.jsonc',
      'user /home/ada/.kilo/opencode.json',
      'user /home/ada/.kilo/opencode.jsonc',
      'user /home/ada/.kilo/kilo.json',
      'user /home/ada/.kilo/kilo.jsonc',
    ])
  })

  it('is translated as OpenCode is', () => {
    const file = '{"mcp": {"fs": {"type": "local", "command": ["npx", "srv"], "environment": {"A": "{env:B}"}}}}'
    expect(importNativeText(kilo, file).servers).toEqual({ fs: { command: 'npx', args: ['srv'], env: { A: '${B}' } } })
  })
})
