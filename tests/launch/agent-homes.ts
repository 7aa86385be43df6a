import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder for one person: the files of their agents, and places for ours. */
export interface AgentHome {
  readonly folder: string
  readonly config: string
  readonly env: Readonly<Record<string, string>>
}

export function agentHome(files: Readonly<Record<string, string>>): AgentHome {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-agents-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  mkdirSync(join(folder, 'work'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  return {
    folder,
    config: join(folder, '.config/sallyport/config.yaml'),
    // Nothing of the machine: not its agents, and no program that could be started.
    env: {
      ...{ HOME: folder, PATH: join(folder, 'bin'), XDG_CONFIG_HOME: join(folder, '.config') },
      ...{ XDG_DATA_HOME: join(folder, '.data'), XDG_STATE_HOME: join(folder, '.state') },
    },
  }
}

/** Six agents with forty servers: the same ones under several names, others under one name, and secrets. */
export const SIX_AGENTS: Readonly<Record<string, string>> = {
  '.claude.json': `{
  "numStartups": 12,
  "mcpServers": {
    "github": {
      "type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_1a2B3c4D5e6F7g8H9i0Jk1L2m3N4o5P6q7R8" }
    },
    "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann/notes"] },
    "linear": { "type": "http", "url": "https://mcp.linear.test/mcp/" },
    "postgres": { "command": "uvx", "args": ["mcp-server-postgres", "postgresql://app:v3ryS3cretPw@db.test/shop"] },
    "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"] },
    "gw": { "command": "npx", "args": ["-y", "sallyport", "serve", "--stdio"] },
    "sentry": { "type": "http", "url": "https://mcp.sentry.test/mcp", "headers": { "Authorization": "Bearer \${SENTRY_TOKEN}" } }
  }
}`,
  '.codex/config.toml': `model = "o5"

[mcp_servers.github]
command = "npx"
args = ["@modelcontextprotocol/server-github@latest"]

[mcp_servers.files]
command = "bunx"
args = ["@modelcontextprotocol/server-filesystem", "/home/ann/notes/"]

[mcp_servers.postgres]
command = "uvx"
args = ["mcp-server-postgres", "postgresql://app:v3ryS3cretPw@staging.test/shop"]
startup_timeout_sec = 20

[mcp_servers.time]
command = "uvx"
args = ["mcp-server-time==2.1.0"]

[mcp_servers.figma]
url = "http://127.0.0.1:3845/mcp"

[mcp_servers.retired]
command = "old-server"
enabled = false

[mcp_servers."browser tools"]
command = "npx"
args = ["-y", "@playwright/mcp@1.4.0", "--headless"]
`,
  '.gemini/settings.json': `{
  // mine
  "theme": "dark",
  "mcpServers": {
    "GitHub": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"] },
    "linear_app": { "httpUrl": "https://mcp.linear.test/mcp" },
    "time": { "command": "uvx", "args": ["mcp-server-time"] },
    "slack": { "command": "node", "args": ["/opt/slack-mcp/index.js", "--token", "xoxb-fake-1234-AbCdEfGhIjKlMnOpQrStUv"] },
    "playwright": { "command": "npx", "args": ["@playwright/mcp@1.5.0", "--headless"] },
    "sqlite": { "command": "uvx", "args": ["mcp-server-sqlite", "--db-path", "/home/ann/shop.db"], "excludeTools": ["write_query"] },
  }
}`,
  '.config/amp/settings.json': `{
  "amp.mcpServers": {
    "gh": { "command": "pnpm", "args": ["dlx", "@modelcontextprotocol/server-github"] },
    "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": { "MEMORY_FILE_PATH": "/home/ann/memory.json" } },
    "context7": { "url": "https://mcp.context7.test/mcp", "headers": { "CONTEXT7_API_KEY": "ctx7sk-0a1b2c3d-4e5f-6071" } },
    "gateway": { "url": "http://localhost:4747/mcp" },
    "brave": { "command": "npx", "args": ["-y", "brave-search-mcp"], "env": { "BRAVE_API_KEY": "BSAx9y8z7w6v5u4t3s2r1q0" } },
    "stripe": { "command": "npx", "args": ["-y", "@stripe/mcp", "--tools=all", "--api-key=sk_test_51AbCdEfGhIjKlMnOpQrStUvWx"] }
  }
}`,
  '.config/opencode/opencode.json': `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "github": { "type": "remote", "url": "https://api.githubcopilot.test/mcp", "headers": { "Authorization": "Bearer {env:GH_TOKEN}" } },
    "fs": { "type": "local", "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ann/notes"] },
    "projects": { "type": "local", "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ann/projects"] },
    "context7": { "type": "remote", "url": "https://mcp.context7.test/mcp/", "enabled": true },
    "sqlite": { "type": "local", "command": ["uvx", "mcp-server-sqlite", "--db-path", "/home/ann/shop.db"] },
    "later": { "type": "local", "command": ["later-server"], "enabled": false },
    "日本語": { "type": "local", "command": ["npx", "-y", "jp-dictionary-mcp"] }
  }
}`,
  '.cursor/mcp.json': `{
  "mcpServers": {
    "github-personal": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"], "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_9z8Y7x6W5v4U3t2S1r0Qp9O8n7M6l5K4j3I2" } },
    "linear": { "url": "https://mcp.linear.test/sse", "type": "sse" },
    "brave": { "command": "npx", "args": ["-y", "brave-search-mcp"] },
    "zapier": { "url": "https://mcp.zapier.test/api/mcp/s/Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg/mcp" },
    "docker": { "command": "docker", "args": ["run", "-i", "--rm", "-e", "API_TOKEN=dckr_pat_AbC123dEf456GhI789", "mcp/inspector"] },
    "broken": { "args": ["no command"] },
    "slack": { "command": "node", "args": ["/opt/slack-mcp/index.js", "--token", "\${env:SLACK_TOKEN}"] }
  }
}`,
}
