import { json, mapServers } from '../agent-cli.js';
export const OPENCODE_SHAPES = {
    local: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    remote: (server) => ({ type: 'remote', ...server, oauth: false, enabled: true }),
};
/** Kilo is a fork of it, and reads the same. */
export const opencodeConfig = ({ model, servers }) => json({
    model: 'scripted/scripted',
    provider: {
        scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${model}/v1`, apiKey: 'none' },
            models: { scripted: { name: 'Scripted' } },
        },
    },
    mcp: mapServers(servers, OPENCODE_SHAPES),
});
export const opencode = {
    id: 'opencode',
    mcpFile: '.config/opencode/opencode.json',
    files: (setting) => ({ '.config/opencode/opencode.json': opencodeConfig(setting) }),
    projectFile: (servers) => ({ 'opencode.json': json({ mcp: mapServers(servers, OPENCODE_SHAPES) }) }),
    environment: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
    headless: (prompt) => ['run', prompt],
    toolName: (tool) => `gw_${tool}`,
};
