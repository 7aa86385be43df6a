import type { AgentCli, AgentSetting } from '../agent-cli.ts'

const configToml = ({ model, servers }: AgentSetting): string => `
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
wire_api = "responses"
${Object.entries(servers)
  .map(([name, { command, args }]) => serverToml(name, command, args))
  .join('')}`

const serverToml = (name: string, command: string, args: readonly string[]): string => `
[mcp_servers.${name}]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
required = true
default_tools_approval_mode = "approve"
`

export const codex: AgentCli = {
  id: 'codex',
  mcpFile: '.codex/config.toml',
  files: (setting) => ({ '.codex/config.toml': configToml(setting) }),
  environment: () => ({}),
  headless: (prompt) => ['exec', '--skip-git-repo-check', prompt],
  toolName: (tool) => `mcp__gw/${tool}`,
}
