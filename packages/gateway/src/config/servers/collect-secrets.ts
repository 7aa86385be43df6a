import { listSecretForms } from '@sallyport/core'
import type { ServerConfig } from '../settings.ts'

/** Values that must never be shown, also not in the server's own output, which may repeat what it received. */
export function collectSecrets(config: ServerConfig): readonly string[] {
  const given =
    'command' in config ? Object.values(config.env) : [...Object.values(config.headers), ...listQueryValues(config.url)]
  return listSecretForms([...config.fromVariables, ...given])
}

/** API keys are sometimes sent in the query. */
const listQueryValues = (url: string): readonly string[] =>
  URL.canParse(url) ? [...new URL(url).searchParams.values()] : []
