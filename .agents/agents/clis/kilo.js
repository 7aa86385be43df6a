import { json, mapServers } from '../agent-cli.js';
import { OPENCODE_SHAPES, opencodeConfig } from './opencode.js';
export const kilo = {
    id: 'kilo',
    mcpFile: '.config/kilo/kilo.json',
    files: (setting) => ({ '.config/kilo/kilo.json': opencodeConfig(setting) }),
    projectFile: (servers) => ({ 'kilo.json': json({ mcp: mapServers(servers, OPENCODE_SHAPES) }) }),
    environment: () => ({ KILO_DISABLE_AUTOUPDATE: '1', KILO_DISABLE_MODELS_FETCH: '1' }),
    headless: (prompt) => ['run', prompt],
    toolName: (tool) => `gw_${tool}`,
};
