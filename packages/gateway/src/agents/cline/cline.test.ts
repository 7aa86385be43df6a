// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { cline } from './cline.ts'

const FILE = `{"mcpServers": {
  "old": {"url": "https://h/sse", "timeout": 60},
  "new": {"url": "https://h/mcp", "type": "streamableHttp", "headers": {"A": "\${env:A}"}, "autoApprove": ["x"]},
  "fs": {"command": "npx", "args": ["srv"], "disabled": true, "disabledTools": ["rm"]}
}}`

describe('Cline', () => {
  it('has one file', () => {
    expect(listNativeFiles(cline)).toEqual(['user /home/ada/.cline/data/settings/cline_mcp_settings.json'])
  })

  it('is translated into our entries: a URL without a type is SSE', () => {
    expect(importNativeText(cline, FILE).servers).toEqual({
      old: { type: 'sse', url: 'https://h/sse', timeouts: { call: '60s' } },
      new: { url: 'https://h/mcp', headers: { A: '${A}' } },
      fs: { command: 'npx', args: ['srv'], exclude_tools: ['rm'], enabled: false },
    })
  })

  it('can exclude tools, but not include only some', () => {
    const config = parseNativeText(cline, FILE)
    const less = cline.filterAvailableMcpTools(config, ['fs', '!fs/write'], [])
    expect(less.config.servers[0]?.entry.disabledTools).toEqual(['rm', 'write'])
    expect(cline.filterAvailableMcpTools(config, ['fs/read'], []).wrap.map(({ name }) => name)).toEqual(['fs'])
  })
})
