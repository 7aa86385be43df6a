// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { amp } from './amp.ts'

const FILE = `{
  "amp.notifications.enabled": false,
  "amp.mcpServers": {
    "playwright": { "command": "npx", "args": ["-y", "@playwright/mcp@latest", "--headless"] },
    "linear": { "url": "https://mcp.linear.app/sse", "headers": { "Authorization": "Bearer \${LINEAR}" } }
  },
  "amp": { "mcpServers": { "not-read-by-amp": { "command": "x" } } }
}`

describe('Amp', () => {
  it('has a file of the user and one of the workspace', () => {
    expect(listNativeFiles(amp)).toEqual([
      'user /home/ada/.config/amp/settings.json',
      'project /srv/app/.amp/settings.json',
    ])
  })

  it('has its servers under one key that contains a dot', () => {
    expect(importNativeText(amp, FILE)).toEqual({
      servers: {
        playwright: { command: 'npx', args: ['-y', '@playwright/mcp@latest', '--headless'] },
        linear: { url: 'https://mcp.linear.app/sse', headers: { Authorization: 'Bearer ${LINEAR}' } },
      },
      notes: [],
    })
  })

  it('keeps the flat key if servers are removed', () => {
    const { document } = amp.filterAvailableMcpTools(parseNativeText(amp, FILE), ['linear'], []).config
    expect(Object.keys(document)).toEqual(['amp.notifications.enabled', 'amp.mcpServers', 'amp'])
    expect(Object.keys(document['amp.mcpServers'] ?? {})).toEqual(['linear'])
  })
})
