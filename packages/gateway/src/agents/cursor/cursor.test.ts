// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { importNativeText, listNativeFiles } from '../adapter.test-kit.ts'
import { cursor } from './cursor.ts'

const FILE = `{
  "mcpServers": {
    "postgres": {
      "type": "stdio",
      "command": "uvx",
      "args": ["mcp-server-postgres", "\${env:DATABASE_URL}", "\${workspaceFolder}/schema.sql"],
      "env": { "HOME_BIN": "\${userHome}/bin", "PRICE": "5$\${env:X}" },
      "envFile": ".env"
    },
    "notion": { "url": "https://mcp.notion.com/mcp", "headers": { "X-Key": "\${env:NOTION_KEY}" }, "auth": { "CLIENT_ID": "a" } }
  }
}`

describe('Cursor', () => {
  it('has a file of the user and one of the project', () => {
    expect(listNativeFiles(cursor)).toEqual(['user /home/ada/.cursor/mcp.json', 'project /srv/app/.cursor/mcp.json'])
  })

  it('is translated into our entries, with notes about what cannot be translated', () => {
    const { servers, notes } = importNativeText(cursor, FILE)
    expect(servers).toMatchObject({
      postgres: {
        command: 'uvx',
        args: ['mcp-server-postgres', '${DATABASE_URL}', '$${workspaceFolder}/schema.sql'],
        env: { HOME_BIN: '${HOME}/bin' },
      },
      notion: { url: 'https://mcp.notion.com/mcp', headers: { 'X-Key': '${NOTION_KEY}' } },
    })
    expect(notes).toEqual([
      'postgres: A reference has no counterpart and stays as plain text.',
      'postgres: A "$" right before a variable cannot be written: check the value.',
      'postgres: "envFile" is left out: set these variables where the gateway is started.',
      'notion: "auth" is left out: the gateway does not sign in by OAuth. Put a token into "headers".',
    ])
  })
})
