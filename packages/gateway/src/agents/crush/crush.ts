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
  files: (place) => {
    const settings = place.platform === 'win32' ? applicationData(place) : xdgConfig(place)
    const folder = pathFromVariable(place, 'CRUSH_GLOBAL_CONFIG') ?? joinPath(place, settings, 'crush')
    return [
      userFile(joinPath(place, folder, 'crush.json')),
      projectFile(place, 'crush.json'),
      projectFile(place, '.crush.json'),
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
    text: 'Our server instead of the user’s: CRUSH_GLOBAL_CONFIG. It is not started where the project names servers. What it keeps in its data folder stays.',
  },
})
