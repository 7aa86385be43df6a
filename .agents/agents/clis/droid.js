import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => ({ type: 'stdio', ...server, disabled: false }),
    remote: (server) => ({ type: 'http', ...server, disabled: false }),
};
export const droid = {
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
    projectFile: (servers) => ({ '.factory/mcp.json': json({ mcpServers: mapServers(servers, SHAPES) }) }),
    startsProjectServers: true,
    environment: () => ({ FACTORY_API_KEY: 'none' }),
    // It has no switch for one server: what it may do unasked is said for all tools at once.
    headless: (prompt) => ['exec', '--auto', 'high', '--model', 'custom:scripted-0', prompt],
    toolName: (tool) => `gw___${tool}`,
};
