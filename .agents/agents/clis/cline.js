import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => server,
    remote: (server) => ({ type: 'streamableHttp', ...server }),
};
const SETTINGS = '.cline/data/settings';
export const cline = {
    id: 'cline',
    mcpFile: `${SETTINGS}/cline_mcp_settings.json`,
    files: ({ model, servers }) => ({
        [`${SETTINGS}/cline_mcp_settings.json`]: json({ mcpServers: mapServers(servers, SHAPES) }),
        [`${SETTINGS}/providers.json`]: json({
            version: 1,
            lastUsedProvider: 'openai-compatible',
            providers: {
                'openai-compatible': {
                    settings: {
                        ...{ provider: 'openai-compatible', apiKey: 'none' },
                        ...{ model: 'scripted', baseUrl: `${model}/v1` },
                    },
                    ...{ updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' },
                },
            },
        }),
    }),
    // Else it leaves a daemon behind, for other windows of its own.
    environment: () => ({ CLINE_SESSION_BACKEND_MODE: 'local' }),
    headless: (prompt) => ['--json', prompt],
    toolName: (tool) => `gw__${tool}`,
};
