import { isJsonObject } from '@sallyport/core'
import { joinPath, namedFolder, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  command,
  cwd,
  type EntryKey,
  env,
  headers,
  leftOut,
  ownAffair,
  startupMilliseconds,
  type,
  url,
} from '../entry-keys.ts'
import { DOUBLE_BRACED } from '../variable-syntax.ts'

const requestOptions: EntryKey = (value, draft, key) => {
  const options = isJsonObject(value) ? Object.entries(value) : []
  for (const [option, part] of options) {
    if (option === 'headers' && part !== undefined) headers(part, draft, `${key}.headers`)
    else leftOut('it has no counterpart.')(null, draft, `${key}.${option}`)
  }
}

export const continueCli = createAdapter({
  id: 'continue',
  title: 'Continue',
  aliases: ['cn'],
  program: 'cn',
  syntax: 'yaml',
  files: (place) => [userFile(joinPath(place, namedFolder(place, 'CONTINUE_GLOBAL_DIR', '.continue'), 'config.yaml'))],
  serversAt: () => ['mcpServers'],
  isList: true,
  entries: {
    variables: DOUBLE_BRACED,
    keys: {
      name: ownAffair,
      type,
      command,
      args,
      env,
      cwd,
      url,
      requestOptions,
      connectionTimeout: startupMilliseconds,
      faviconUrl: ownAffair,
      sourceFile: ownAffair,
      apiKey: leftOut('put it into "headers", as "Authorization".'),
    },
  },
  enforcement: { level: 'strict', text: 'Only our server: --config replaces its file for the run.' },
})
