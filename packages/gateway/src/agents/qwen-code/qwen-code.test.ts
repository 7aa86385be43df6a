// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { qwenCode } from './qwen-code.ts'

const FILE = `{
  "$version": 2,
  "mcpServers": {
    "web": { "httpUrl": "https://web.example/mcp", "discoveryTimeoutMs": 2500, "trust": false },
    "py": { "command": "uvx", "args": ["srv"], "env": { "KEY": "$PY_KEY" }, "includeTools": ["a"] }
  }
}`

describe('Qwen Code', () => {
  it('has a file of the user and one of the project', () => {
    expect(listNativeFiles(qwenCode)).toEqual([
      'user /home/ada/.qwen/settings.json',
      'project /srv/app/.qwen/settings.json',
    ])
  })

  it('is translated as Gemini CLI is', () => {
    expect(importNativeText(qwenCode, FILE).servers).toEqual({
      web: { url: 'https://web.example/mcp', timeouts: { startup: '2500ms' } },
      py: { command: 'uvx', args: ['srv'], env: { KEY: '${PY_KEY}' }, include_tools: ['a'] },
    })
  })
})
