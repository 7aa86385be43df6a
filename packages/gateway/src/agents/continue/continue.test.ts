// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { continueCli } from './continue.ts'

const FILE = `name: Local
version: 1.0.0
schema: v1
mcpServers:
  - name: SQLite
    command: npx
    args: ["-y", "mcp-sqlite", "/srv/test.db"]
    env: { KEY: "\${{ secrets.DB_KEY }}" }
    connectionTimeout: 20000
  - name: docs
    type: streamable-http
    url: https://docs.example/mcp
    requestOptions: { headers: { Authorization: "Bearer \${{ secrets.DOCS }}" }, timeout: 7 }
  - uses: somebody/their-server
`

describe('Continue', () => {
  it('has one file', () => {
    expect(listNativeFiles(continueCli)).toEqual(['user /home/ada/.continue/config.yaml'])
  })

  it('has a list of servers, each with its name; an entry without a name is not a server', () => {
    const { servers, problems } = parseNativeText(continueCli, FILE)
    expect(servers.map(({ name }) => name)).toEqual(['SQLite', 'docs'])
    expect(problems).toEqual(['An entry without a name is left out.'])
  })

  it('is translated into our entries', () => {
    expect(importNativeText(continueCli, FILE)).toEqual({
      servers: {
        SQLite: {
          command: 'npx',
          args: ['-y', 'mcp-sqlite', '/srv/test.db'],
          env: { KEY: '${DB_KEY}' },
          timeouts: { startup: '20s' },
        },
        docs: { url: 'https://docs.example/mcp', headers: { Authorization: 'Bearer ${DOCS}' } },
      },
      notes: ['docs: "requestOptions.timeout" is left out: it has no counterpart.'],
    })
  })

  it('stays a list if servers are removed', () => {
    const { document } = continueCli.filterAvailableMcpTools(parseNativeText(continueCli, FILE), ['sqlite'], []).config
    expect(document.mcpServers).toEqual([parseNativeText(continueCli, FILE).servers[0]?.entry])
  })
})
