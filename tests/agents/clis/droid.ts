import { type AgentCli, type EntryShapes, json, mapServers } from '../agent-cli.ts'

const SHAPES: EntryShapes = {
  local: (server) => ({ type: 'stdio', ...server, disabled: false }),
  remote: (server) => ({ type: 'http', ...server, disabled: false }),
}

export const droid: AgentCli = {
  id: 'droid',
  mcpFile: '.factory/mcp.json',
  files: ({ model, servers }) => ({
    '.factory/mcp.json': json({
      mcpServers: mapServers(servers, SHAPES),
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
  // It has no switch for one server: what it may do unasked is said for all tools at once.
  headless: (prompt) => ['exec', '--auto', 'high', '--model', 'custom:scripted-0', prompt],
  toolName: (tool) => `gw___${tool}`,
}
