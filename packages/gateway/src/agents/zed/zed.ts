import { isJsonObject } from '@sallyport/core'
import type { HostContext } from '../agent-adapter.ts'
import { applicationData, homePath, joinPath, projectFile, userFile, xdgConfig } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callTimeoutMs,
  command,
  enabled,
  env,
  headers,
  ignored,
  type KeyTranslator,
  omitWithNote,
  url,
} from '../entry-keys.ts'
import { NO_VARIABLES } from '../variable-syntax.ts'

/** Older files have an object with the whole program under `command`. */
const programOrCommand: KeyTranslator = (value, draft, key) => {
  if (!isJsonObject(value)) return command(value, draft, key)
  for (const [part, read] of [
    ['path', command],
    ['args', args],
    ['env', env],
  ] as const) {
    const found = Object.hasOwn(value, part) ? value[part] : undefined
    if (found !== undefined && found !== null) read(found, draft, `${key}.${part}`)
  }
}

function settingsPath(host: HostContext): string {
  if (host.platform === 'win32') return joinPath(host, applicationData(host), 'Zed', 'settings.json')
  if (host.platform === 'darwin') return homePath(host, '.config', 'zed', 'settings.json')
  return joinPath(host, xdgConfig(host), 'zed', 'settings.json')
}

export const zed = createAdapter({
  id: 'zed',
  title: 'Zed',
  program: 'zed',
  syntax: 'json',
  files: (host) => [userFile(settingsPath(host)), projectFile(host, '.zed', 'settings.json')],
  serversPath: () => ['context_servers'],
  entries: {
    variables: NO_VARIABLES,
    keys: {
      command: programOrCommand,
      args,
      env,
      url,
      headers,
      enabled,
      timeout: callTimeoutMs,
      source: (value, draft) => {
        if (value === 'extension') draft.refusal = 'it is part of an extension of Zed.'
      },
      settings: omitWithNote('these are settings of an extension.'),
      remote: ignored,
    },
  },
  enforcement: {
    level: 'none',
    text: 'It cannot be configured for one run: paste the entry of `sallyport connect zed`, and remove its other servers.',
  },
})
