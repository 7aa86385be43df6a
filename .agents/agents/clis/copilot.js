import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => ({ type: 'local', ...server, tools: ['*'] }),
    remote: (server) => ({ type: 'http', ...server, tools: ['*'] }),
};
export const copilot = {
    id: 'copilot',
    mcpFile: '.copilot/mcp-config.json',
    files: ({ servers }) => ({
        '.copilot/mcp-config.json': json({
            mcpServers: mapServers(servers, SHAPES),
        }),
    }),
    environment: (model) => ({
        COPILOT_OFFLINE: 'true',
        COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
        COPILOT_MODEL: 'scripted',
    }),
    headless: (prompt) => ['-p', prompt],
    unasked: ['--allow-all-tools'],
    toolName: (tool) => `gw-${tool}`,
};
