import { entryOf, json } from '../agent-cli.js';
const SHAPES = {
    local: (server) => server,
    remote: (server) => ({ type: 'streamable-http', ...server }),
};
export const continueCli = {
    id: 'continue',
    mcpFile: '.continue/config.yaml',
    files: ({ model, servers }) => ({
        '.continue/config.yaml': json({
            ...{ name: 'own', version: '1.0.0', schema: 'v1' },
            models: [{ name: 'Scripted', provider: 'openai', model: 'scripted', apiBase: `${model}/v1`, apiKey: 'none' }],
            mcpServers: Object.entries(servers).map(([name, server]) => ({ name, ...entryOf(server, SHAPES) })),
        }),
    }),
    environment: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
    headless: (prompt) => ['-p', prompt],
    unasked: ['--auto'],
    // No server in front: the gateway's own prefixes are all that tells tools apart.
    toolName: (tool) => tool,
};
