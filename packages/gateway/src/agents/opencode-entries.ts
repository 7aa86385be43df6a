import { callTimeoutMs, command, cwd, enabled, env, headers, oauth, type, url } from './entry-keys.ts'
import type { EntryShape } from './translate-entry.ts'
import { ENV_COLON } from './variable-syntax.ts'

/** Servers as OpenCode describes them, and Kilo after it. */
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
    // `oauth: false` switches off what the gateway does not do anyway.
    oauth: (value, draft, key) => {
      if (value !== false) oauth(value, draft, key)
    },
  },
}
