import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => ({ ...server, trust: true }),
    remote: ({ url }) => ({ httpUrl: url, trust: true }),
};
export const qwenCode = {
    id: 'qwen-code',
    mcpFile: '.qwen/settings.json',
    // It notes the version of its settings in there.
    rewritesFile: true,
    files: ({ servers }) => ({
        '.qwen/settings.json': json({
            security: { auth: { selectedType: 'openai' } },
            privacy: { usageStatisticsEnabled: false },
            mcpServers: mapServers(servers, SHAPES),
        }),
    }),
    environment: (model) => ({ OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'scripted' }),
    headless: (prompt) => ['--auth-type', 'openai', '-p', prompt],
    toolName: (tool) => `mcp__gw__${tool}`,
};
