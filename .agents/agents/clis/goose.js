import { json, mapServers } from '../agent-cli.js';
const EXTENSION = { enabled: true, name: 'own', description: 'own', timeout: 60 };
export const goose = {
    id: 'goose',
    mcpFile: '.config/goose/config.yaml',
    files: ({ servers }) => ({
        // JSON is YAML.
        '.config/goose/config.yaml': json({
            extensions: mapServers(servers, {
                local: ({ command, args }) => ({ ...EXTENSION, type: 'stdio', cmd: command, args }),
                remote: ({ url }) => ({ ...EXTENSION, type: 'streamable_http', uri: url }),
            }),
        }),
    }),
    environment: (model) => ({
        GOOSE_PROVIDER: 'openai',
        GOOSE_MODEL: 'scripted',
        GOOSE_DISABLE_KEYRING: '1',
        OPENAI_HOST: model,
        OPENAI_API_KEY: 'none',
    }),
    headless: (prompt) => ['run', '-t', prompt],
    toolName: (tool) => `gw__${tool}`,
};
