import { type AgentCli, json, mapServers } from '../agent-cli.ts'

export const qwenCode: AgentCli = {
  id: 'qwen-code',
  mcpFile: '.qwen/settings.json',
  files: ({ servers }) => ({
    '.qwen/settings.json': json({
      security: { auth: { selectedType: 'openai' } },
      privacy: { usageStatisticsEnabled: false },
      mcpServers: mapServers(servers, {
        local: (server) => ({ ...server, trust: true }),
        remote: ({ url }) => ({ httpUrl: url, trust: true }),
      }),
    }),
  }),
  environment: (model) => ({ OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'scripted' }),
  headless: (prompt) => ['--auth-type', 'openai', '-p', prompt],
  toolName: (tool) => `mcp__gw__${tool}`,
}
