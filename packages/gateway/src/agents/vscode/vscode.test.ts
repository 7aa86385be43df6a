// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { vscode } from './vscode.ts'

const FILE = `{
  "inputs": [{ "type": "promptString", "id": "perplexity-key", "password": true }],
  "servers": {
    "perplexity": { "type": "stdio", "command": "npx", "args": ["srv"], "env": { "KEY": "\${input:perplexity-key}" } },
    "github": { "type": "http", "url": "https://api.githubcopilot.com/mcp/", "gallery": "https://x", "version": "1" }
  }
}`

describe('VS Code', () => {
  it('has a file of the profile and one of the project', () => {
    expect(listNativeFiles(vscode)).toEqual([
      'user /home/ada/.config/Code/User/mcp.json',
      'project /srv/app/.vscode/mcp.json',
    ])
    const mac = hostWith({ platform: 'darwin', home: '/Users/ada' })
    expect(vscode.defaultMcpConfigPath(mac)).toBe('/Users/ada/Library/Application Support/Code/User/mcp.json')
  })

  it('is translated into our entries; an input becomes a variable', () => {
    expect(importNativeText(vscode, FILE)).toEqual({
      servers: {
        perplexity: { command: 'npx', args: ['srv'], env: { KEY: '${INPUT_PERPLEXITY_KEY}' } },
        github: { url: 'https://api.githubcopilot.com/mcp/' },
      },
      notes: ['perplexity: The agent asks for an input; here it has to be in the variable INPUT_PERPLEXITY_KEY.'],
    })
  })
})
