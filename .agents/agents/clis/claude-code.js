import { json, mapServers } from '../agent-cli.js';
const SHAPES = {
    local: (server) => ({ type: 'stdio', ...server }),
    remote: (server) => ({ type: 'http', ...server }),
};
export const claudeCode = {
    id: 'claude-code',
    mcpFile: '.claude.json',
    // It counts its starts in there, and much else.
    rewritesFile: true,
    files: ({ servers }) => ({
        '.claude.json': json({ hasCompletedOnboarding: true, mcpServers: mapServers(servers, SHAPES) }),
    }),
    // Without a person it starts these without being asked to trust them.
    projectFile: (servers) => ({ '.mcp.json': json({ mcpServers: mapServers(servers, SHAPES) }) }),
    environment: (model) => ({
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
    }),
    headless: (prompt) => ['-p', prompt],
    unasked: ['--allowedTools', 'mcp__gw'],
    toolName: (tool) => `mcp__gw__${tool}`,
};
