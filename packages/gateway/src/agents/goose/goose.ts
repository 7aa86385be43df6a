import { applicationData, joinPath, userFile, xdgConfig } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callTimeoutSeconds,
  command,
  description,
  enabled,
  env,
  headers,
  ignored,
  includeTools,
  passedVariables,
  title,
  type,
  url,
} from '../entry-keys.ts'
import { BRACED } from '../variable-syntax.ts'

export const goose = createAdapter({
  id: 'goose',
  title: 'Goose',
  program: 'goose',
  syntax: 'yaml',
  files: (host) => [
    userFile(
      host.platform === 'win32'
        ? joinPath(host, applicationData(host), 'Block', 'goose', 'config', 'config.yaml')
        : joinPath(host, xdgConfig(host), 'goose', 'config.yaml'),
    ),
  ],
  serversPath: () => ['extensions'],
  isBuiltIn: ({ type: kind }) => ['builtin', 'platform', 'frontend', 'inline_python'].includes(String(kind)),
  // An empty list means all tools.
  toolFilter: { include: 'available_tools', all: 'if empty' },
  entries: {
    variables: BRACED,
    keys: {
      type,
      cmd: command,
      args,
      envs: env,
      env_keys: passedVariables,
      uri: url,
      headers,
      timeout: callTimeoutSeconds,
      enabled,
      available_tools: (value, draft, key) => {
        if (!Array.isArray(value) || value.length > 0) includeTools(value, draft, key)
      },
      name: ignored,
      display_name: title,
      description,
      bundled: ignored,
    },
  },
  results: { maxCharacters: 190_000, needsStructure: false, clientNames: ['goose-cli'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: --no-profile leaves out all extensions but parts of goose itself, --with-extension adds ours; a session with others is not resumed, and no model that is an agent itself is used.',
  },
})
