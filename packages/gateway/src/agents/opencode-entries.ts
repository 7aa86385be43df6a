import { callTimeoutMs, command, cwd, enabled, env, headers, oauth, type, url } from './entry-keys.ts'
import type { EntryShape } from './translate-entry.ts'
import { ENV_COLON } from './variable-syntax.ts'

/** The entry format of OpenCode, also used by Kilo. */
export const OPENCODE_ENTRIES: EntryShape = {
  variables: ENV_COLON,
  keys: {
    type,
    command,
    environment: env,
    cwd,
    url,
    headers,
    enabled,
    timeout: callTimeoutMs,
    // `oauth: false` disables what the gateway does not support anyway.
    oauth: (value, draft, key) => {
      if (value !== false) oauth(value, draft, key)
    },
  },
}
