import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => server,
    remote: (server) => ({ type: 'http', ...server }),
};
export const kimi = {
    id: 'kimi',
    mcpFile: '.kimi-code/mcp.json',
    files: ({ servers }) => ({ '.kimi-code/mcp.json': json({ mcpServers: mapServers(servers, SHAPES) }) }),
    environment: (model) => ({
        KIMI_MODEL_NAME: 'scripted',
        KIMI_MODEL_API_KEY: 'none',
        KIMI_MODEL_PROVIDER_TYPE: 'openai',
        KIMI_MODEL_BASE_URL: `${model}/v1`,
        KIMI_CODE_NO_AUTO_UPDATE: '1',
    }),
    headless: (prompt) => ['-p', prompt],
    toolName: (tool) => `mcp__gw__${tool}`,
};
