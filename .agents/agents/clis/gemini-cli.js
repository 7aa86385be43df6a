import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => ({ ...server, trust: true }),
    remote: ({ url }) => ({ httpUrl: url, trust: true }),
};
export const geminiCli = {
    id: 'gemini-cli',
    mcpFile: '.gemini/settings.json',
    files: ({ servers }) => ({
        '.gemini/settings.json': json({
            security: { auth: { selectedType: 'gemini-api-key' } },
            privacy: { usageStatisticsEnabled: false },
            mcpServers: mapServers(servers, SHAPES),
        }),
    }),
    projectFile: (servers) => ({ '.gemini/settings.json': json({ mcpServers: mapServers(servers, SHAPES) }) }),
    environment: (model) => ({
        GOOGLE_GEMINI_BASE_URL: model,
        GEMINI_API_KEY: 'none',
        // In a folder that nobody trusted it starts no server at all.
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    headless: (prompt) => ['-m', 'gemini-2.5-flash', '-p', prompt],
    toolName: (tool) => `mcp_gw_${tool}`,
};
