import {
  args,
  callTimeoutMs,
  command,
  cwd,
  description,
  env,
  excludeTools,
  headers,
  httpUrl,
  includeTools,
  oauth,
  omitWithNote,
  sseUrl,
  startupTimeoutMs,
  type,
} from './entry-keys.ts'
import type { EntryShape } from './translate-entry.ts'
import { SHELL_LIKE } from './variable-syntax.ts'

/** The entry format of Gemini CLI, also used by Qwen Code. */
export const GEMINI_ENTRIES: EntryShape = {
  variables: SHELL_LIKE,
  keys: {
    type,
    command,
    args,
    env,
    cwd,
    httpUrl,
    url: sseUrl,
    headers,
    timeout: callTimeoutMs,
    discoveryTimeoutMs: startupTimeoutMs,
    description,
    includeTools,
    excludeTools,
    trust: omitWithNote('define in tools.yaml which tools need approval.'),
    oauth,
    authProviderType: oauth,
    targetAudience: oauth,
    targetServiceAccount: oauth,
  },
}
