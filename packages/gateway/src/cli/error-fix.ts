import { type ErrorCode, quoteForShell } from '@sallyport/core'

/** What to do about a failure of which only the code was recorded. */
const FIXES: Readonly<Partial<Record<ErrorCode, string>>> = {
  TOOL_UNKNOWN: 'See `sallyport tools` for the tools that are offered.',
  CALL_DENIED: 'Change the rule that decided, if the call should be allowed.',
  MODE_FORBIDS: '`sallyport mode` says which mode is in force, why, and how to leave it.',
  DEFINITION_CHANGED: 'See what has changed, and accept it if it is harmless: `sallyport tools accept <tool>`.',
  ARGUMENTS_INVALID: 'The caller has to give what the tool takes: `sallyport tools show <tool>`.',
  ARGUMENTS_UNCHECKED:
    'Try again after a minute, with smaller arguments; else its server needs a simpler input schema.',
  ARGUMENTS_FORBIDDEN: 'Change the rule that decided, if such arguments should be allowed.',
  PAGE_REFUSED: 'Its server asks for a page that nobody should be sent to: ask its author for a plain https address.',
  SECRET_REFUSED:
    'Give the key to the server in config.yaml. Where a tool has to take one: `secrets: allow` in its entry.',
  RATE_LIMITED: 'It came too often: try again later, or raise the limit in its entry.',
  APPROVAL_REQUIRED: 'Somebody has to approve such calls first.',
  APPROVAL_DENIED: 'It was not made. A later call is asked about again.',
  APPROVAL_PENDING:
    'Its agent cannot wait for so long: the request went on waiting for the same call to be made again.',
  APPROVAL_EXPIRED: '`sallyport approvals` shows what waits; governance.approval_timeout says for how long.',
  AUDIT_UNAVAILABLE: 'See that the disk of the state folder has room and can be written: `sallyport doctor`.',
  RESULT_WITHHELD: 'The call was made: look at what it did before you make it again.',
  OVERLOADED: 'Too much ran at once: try again, or raise gateway.max_calls_in_flight.',
  UPSTREAM_STARTING: 'The server was still starting: try again.',
  UPSTREAM_RESTARTING: 'The server was being restarted: try again.',
  UPSTREAM_BROKEN: 'See `sallyport servers <name>` for why its server does not stay up.',
  UPSTREAM_UNAVAILABLE: 'See `sallyport servers <name>` for why its server cannot be reached.',
  UPSTREAM_DISABLED: 'Its server is switched off: set `enabled: true` in config.yaml.',
  UPSTREAM_NEEDS_LOGIN: 'Its server wants a login: see `sallyport servers <name>`.',
  UPSTREAM_GONE: 'Its server had ended before the call was sent: try again.',
  UPSTREAM_DIED: 'Its server ended in the middle of the call: see `sallyport servers <name>` for its last words.',
  UPSTREAM_TIMEOUT:
    'It took too long: raise timeout_seconds of its entry or the timeout of its server, whichever it ran into, or ask for less.',
  UPSTREAM_TOO_LARGE: 'Ask for less, or raise the limit on message size of its server in config.yaml.',
  UPSTREAM_PROTOCOL: 'Its server does not keep to the protocol: see `sallyport servers <name>`, and update it.',
  ISOLATION_FAILED: 'The model gave nothing of use: try another in isolation.model, or the strategy bounded.',
  ISOLATION_LIMIT: 'It used up its turns, tokens or time: raise isolation.max_turns, max_tokens or max_time.',
  MODEL_UNAVAILABLE: 'Set isolation.model to one that can be reached, or use the strategy bounded.',
  EXECUTOR_MISSING: 'Switch agents.mcp-executor on in config.yaml, or use another strategy.',
  CALL_CANCELLED: 'The client stopped waiting, or the gateway ended: check what it did before you make it again.',
  INTERNAL: 'This is a bug of Sallyport: please report it.',
}

export function findFix(
  code: ErrorCode,
  about: { readonly tool_name: string; readonly server: string },
): string | undefined {
  const { tool_name, server } = about
  return FIXES[code]?.replace('<tool>', () => quoteForShell(tool_name)).replace('<name>', () => quoteForShell(server))
}
