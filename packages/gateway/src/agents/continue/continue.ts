import { isJsonObject } from '@sallyport/core'
import { folderFromVariable, joinPath, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  command,
  cwd,
  env,
  headers,
  ignored,
  type KeyTranslator,
  omitWithNote,
  startupTimeoutMs,
  type,
  url,
} from '../entry-keys.ts'
import { DOUBLE_BRACED } from '../variable-syntax.ts'

const requestOptions: KeyTranslator = (value, draft, key) => {
  const options = isJsonObject(value) ? Object.entries(value) : []
  for (const [option, part] of options) {
    if (option === 'headers' && part !== undefined) headers(part, draft, `${key}.headers`)
    else omitWithNote('it has no counterpart.')(null, draft, `${key}.${option}`)
  }
}

export const continueCli = createAdapter({
  id: 'continue',
  title: 'Continue',
  aliases: ['cn'],
  program: 'cn',
  syntax: 'yaml',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'CONTINUE_GLOBAL_DIR', '.continue'), 'config.yaml')),
  ],
  serversPath: () => ['mcpServers'],
  isList: true,
  entries: {
    variables: DOUBLE_BRACED,
    keys: {
      name: ignored,
      type,
      command,
      args,
      env,
      cwd,
      url,
      requestOptions,
      connectionTimeout: startupTimeoutMs,
      faviconUrl: ignored,
      sourceFile: ignored,
      apiKey: omitWithNote('put it into "headers", as "Authorization".'),
    },
  },
  results: { clientNames: ['continue-cli-client'] },
  enforcement: { level: 'strict', text: 'Only our server: --config replaces its file for the run.' },
})
