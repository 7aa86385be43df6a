import { type AgentCli, json, mapServers } from '../agent-cli.ts'

export const droid: AgentCli = {
  id: 'droid',
  mcpFile: '.factory/mcp.json',
  files: ({ model, servers }) => ({
    '.factory/mcp.json': json({
      mcpServers: mapServers(servers, {
        local: (server) => ({ type: 'stdio', ...server, disabled: false }),
        remote: (server) => ({ type: 'http', ...server, disabled: false }),
      }),
    }),
    '.factory/settings.json': json({
      customModels: [
        {
          ...{ model: 'scripted', displayName: 'scripted', provider: 'generic-chat-completion-api' },
          ...{ baseUrl: `${model}/v1`, apiKey: 'none', maxOutputTokens: 4_096 },
        },
      ],
    }),
  }),
  environment: () => ({ FACTORY_API_KEY: 'none' }),
  headless: (prompt) => ['exec', '--model', 'custom:scripted-0', prompt],
  unasked: ['--skip-permissions-unsafe'],
  toolName: (tool) => `gw___${tool}`,
}
