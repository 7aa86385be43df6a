import { applicationData, joinPath, pathFromVariable, projectFile, userFile, xdgConfig } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callTimeoutSeconds,
  command,
  disabled,
  env,
  excludeTools,
  headers,
  includeTools,
  type,
  url,
} from '../entry-keys.ts'
import { SHELL_WITH_COMMANDS } from '../variable-syntax.ts'

export const crush = createAdapter({
  id: 'crush',
  title: 'Crush',
  program: 'crush',
  syntax: 'json',
  files: (host) => {
    const settings = host.platform === 'win32' ? applicationData(host) : xdgConfig(host)
    const folder = pathFromVariable(host, 'CRUSH_GLOBAL_CONFIG') ?? joinPath(host, settings, 'crush')
    return [
      userFile(joinPath(host, folder, 'crush.json')),
      projectFile(host, 'crush.json'),
      projectFile(host, '.crush.json'),
    ]
  },
  serversPath: () => ['mcp'],
  toolFilter: { include: 'enabled_tools', exclude: 'disabled_tools' },
  entries: {
    variables: SHELL_WITH_COMMANDS,
    keys: {
      type,
      command,
      args,
      env,
      url,
      headers,
      timeout: callTimeoutSeconds,
      disabled,
      enabled_tools: includeTools,
      disabled_tools: excludeTools,
    },
  },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of the user’s: CRUSH_GLOBAL_CONFIG. It is not started if the project names servers. What it stores in its data folder stays.',
  },
})
