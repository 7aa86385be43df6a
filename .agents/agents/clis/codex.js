import { entryOf } from '../agent-cli.js';
const configToml = ({ model, servers }) => `
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
wire_api = "responses"
${Object.entries(servers)
    .map(([name, server]) => serverToml(name, entryOf(server, SHAPES)))
    .join('')}`;
const SHAPES = { local: (server) => server, remote: (server) => server };
/** JSON texts and arrays of them are TOML. */
const serverToml = (name, entry) => `
[mcp_servers.${name}]
${Object.entries(entry)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    .join('\n')}
required = true
default_tools_approval_mode = "approve"
`;
export const codex = {
    id: 'codex',
    mcpFile: '.codex/config.toml',
    files: (setting) => ({ '.codex/config.toml': configToml(setting) }),
    environment: () => ({}),
    headless: (prompt) => ['exec', '--skip-git-repo-check', prompt],
    toolName: (tool) => `mcp__gw/${tool}`,
};
