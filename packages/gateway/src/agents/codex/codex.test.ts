// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references.

import { describe, expect, it } from 'vitest'
import { hostWith, importNativeText, listNativeFiles, parseNativeText } from '../adapter.test-kit.ts'
import { codex } from './codex.ts'

const FILE = `# my settings
model = "gpt-5.1-codex"
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp", "$HOME and \${HOME}"]
env = { LEVEL = "debug" }
env_vars = ["DOCS_TOKEN"]
cwd = "/srv/docs"
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled_tools = ["search", "read"]
disabled_tools = ["read"]

[mcp_servers.docs.tools.search]
approval_mode = "approve"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Org" = "FIGMA_ORG" }
enabled = false
required = true

[projects."/srv/app"]
trust_level = "trusted"
`

describe('Codex', () => {
  it('has a file of the user and one of the project, in TOML', () => {
    expect(listNativeFiles(codex)).toEqual(['user /home/ada/.codex/config.toml', 'project /srv/app/.codex/config.toml'])
    const moved = hostWith({ environment: { CODEX_HOME: 'here' } })
    expect(codex.defaultMcpConfigPath(moved)).toBe('/srv/app/here/config.toml')
  })

  it('keeps both kinds of servers, with every field', () => {
    const { servers, document } = parseNativeText(codex, FILE)
    expect(servers.map(({ name }) => name)).toEqual(['docs', 'figma'])
    expect(servers[0]?.entry).toMatchObject({ tools: { search: { approval_mode: 'approve' } }, tool_timeout_sec: 45.5 })
    expect(Object.keys(document)).toEqual(['model', 'approval_policy', 'mcp_servers', 'projects'])
  })

  it('is translated into our entries; what looks like a variable is literal text in Codex', () => {
    expect(importNativeText(codex, FILE)).toEqual({
      servers: {
        docs: {
          command: 'npx',
          args: ['-y', 'docs-mcp', '$HOME and $${HOME}'],
          env: { LEVEL: 'debug', DOCS_TOKEN: '${DOCS_TOKEN}' },
          cwd: '/srv/docs',
          timeouts: { startup: '20s', call: '45500ms' },
          include_tools: ['search', 'read'],
          exclude_tools: ['read'],
        },
        figma: {
          url: 'https://mcp.figma.com/mcp',
          headers: { Authorization: 'Bearer ${FIGMA_TOKEN}', 'X-Region': 'eu', 'X-Org': '${FIGMA_ORG}' },
          enabled: false,
        },
      },
      notes: [
        'docs: "tools" is left out: define in tools.yaml which tools need approval.',
        'figma: It is disabled in the agent, and so it is here.',
      ],
    })
  })

  it('narrows a server with its own lists, and never widens them', () => {
    const config = parseNativeText(codex, FILE)
    const narrowed = codex.filterAvailableMcpTools(config, ['docs/search', 'docs/write'], [])
    expect(narrowed.config.servers).toEqual([
      { name: 'docs', entry: { ...config.servers[0]?.entry, enabled_tools: ['search'] } },
    ])
    const less = codex.filterAvailableMcpTools(config, ['docs', '!docs/search', 'figma'], [])
    expect(less.config.servers).toEqual([
      { name: 'docs', entry: { ...config.servers[0]?.entry, disabled_tools: ['read', 'search'] } },
      config.servers[1],
    ])
    expect(less.config.document).toMatchObject({ model: 'gpt-5.1-codex', projects: {} })
  })

  it('reports the line and column of an error, and nothing of the text there', () => {
    expect(() => parseNativeText(codex, 'model = "x"\n[mcp_servers.docs]\ncommand = "sk-secret\n')).toThrow(
      /^\/home\/ada\/\.codex\/config\.toml:3:\d+: [a-z ]+\.$/,
    )
  })
})
