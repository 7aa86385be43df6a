import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  bearerVariable,
  callTimeoutSeconds,
  command,
  cwd,
  enabled,
  env,
  excludeTools,
  headers,
  ignored,
  includeTools,
  omitWithNote,
  passedVariables,
  startupTimeoutMs,
  startupTimeoutSeconds,
  url,
  variableHeaders,
} from '../entry-keys.ts'
import { NO_VARIABLES } from '../variable-syntax.ts'

const OAUTH = omitWithNote('the gateway does not sign in by OAuth. Name a variable that holds a token.')

export const codex = createAdapter({
  id: 'codex',
  title: 'Codex',
  aliases: ['codex-cli'],
  program: 'codex',
  syntax: 'toml',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'CODEX_HOME', '.codex'), 'config.toml')),
    projectFile(host, '.codex', 'config.toml'),
  ],
  serversPath: () => ['mcp_servers'],
  toolFilter: { include: 'enabled_tools', exclude: 'disabled_tools' },
  entries: {
    variables: NO_VARIABLES,
    keys: {
      command,
      args,
      env,
      env_vars: passedVariables,
      cwd,
      url,
      bearer_token_env_var: bearerVariable,
      http_headers: headers,
      env_http_headers: variableHeaders,
      http_headers_helper: omitWithNote('the gateway runs no programs for headers.'),
      enabled,
      enabled_tools: includeTools,
      disabled_tools: excludeTools,
      startup_timeout_sec: startupTimeoutSeconds,
      startup_timeout_ms: startupTimeoutMs,
      tool_timeout_sec: callTimeoutSeconds,
      tools: omitWithNote('define in tools.yaml which tools need approval.'),
      default_tools_approval_mode: omitWithNote('define in tools.yaml which tools need approval.'),
      required: ignored,
      startup_readiness: ignored,
      supports_parallel_tool_calls: ignored,
      omit_tools_from: ignored,
      tool_input_schema_max_bytes: ignored,
      scopes: OAUTH,
      oauth: OAUTH,
      oauth_resource: OAUTH,
    },
  },
  results: { maxCharacters: 9_000, needsStructure: false, clientNames: ['codex-mcp-client'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: each of its own is disabled for the run with -c, and so are plugins and apps, which add others; it is not started if a role of a sub-agent, the system, another machine or an organization may add some.',
  },
})
