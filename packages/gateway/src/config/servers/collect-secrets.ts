import { listSecretForms } from '@sallyport/core'
import type { ServerConfig } from '../settings.ts'

/** What must not be shown of a server, whoever says it: its own output may repeat what it was given. */
export function collectSecrets(config: ServerConfig): readonly string[] {
  const given =
    'command' in config ? Object.values(config.env) : [...Object.values(config.headers), ...listQueryValues(config.url)]
  return listSecretForms([...config.fromVariables, ...given])
}

/** Keys travel in queries too. */
const listQueryValues = (url: string): readonly string[] =>
  URL.canParse(url) ? [...new URL(url).searchParams.values()] : []
