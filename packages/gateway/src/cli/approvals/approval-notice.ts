import { type LoggedEvent, quoteForShell, SallyportError } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'
import { resolveState } from '../find-home.ts'
import type { GatewayClient } from '../gateway/gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { formatLocalTime } from '../terminal/local-time.ts'
import { reportBug } from '../terminal/print-error.ts'
import type { Screen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

type ApprovalRequestedEvent = Extract<LoggedEvent, { type: 'APPROVAL_REQUESTED' }>

export interface ApprovalNoticeOptions {
  readonly client: GatewayClient
  readonly trace: string
  readonly onRequested: (event: ApprovalRequestedEvent) => void
  readonly signal: AbortSignal
}

/**
 * Reports each approval request of a trace until the signal aborts. Failures are not reported here: the call reports
 * them.
 */
export async function followApprovalRequests({
  client,
  trace,
  onRequested,
  signal,
}: ApprovalNoticeOptions): Promise<void> {
  try {
    // The call may be faster than this request, so the feed starts with recent events.
    const events = client.follow({ type: 'APPROVAL_REQUESTED', trace, limit: 10 }, signal)
    for await (const event of events) onRequested(event as ApprovalRequestedEvent)
  } catch (error) {
    if (!signal.aborted && !(error instanceof SallyportError)) reportBug(error, 'approval notice')
  }
}

/** The command that approves the call from another terminal. It names the state folder unless that is the default. */
export function buildApproveCommand(context: CliContext, flags: GlobalFlags, approval: string): string {
  const isDefaultState = flags.state === undefined && !context.environment.SALLYPORT_STATE
  const parts = [
    'sallyport',
    'approvals',
    'approve',
    approval,
    ...(isDefaultState ? [] : ['--state', resolveState(context, flags)]),
  ]
  return parts.map(quoteForShell).join(' ')
}

/** Always on stderr: stdout is for the answer. */
export function printApprovalNotice(screen: Screen, event: ApprovalRequestedEvent, command: string): void {
  const { approval, expires, reason, for_private_data: isRefusedAtOnce } = event
  if (screen.json) {
    const facts = { approval, expires, reason, command }
    return screen.printMessage(JSON.stringify(isRefusedAtOnce ? { approvable: facts } : { waiting: facts }))
  }
  const until = formatLocalTime(expires)
  if (isRefusedAtOnce) {
    // The reason is in the error that follows.
    screen.printMessage(`… The call does not wait. It can be approved until ${until}, and then made again.`)
    return screen.printMessage(`  Approve it with: ${command}`)
  }
  screen.printMessage(`… The call waits for approval ${approval} until ${until}. ${visibleLine(reason)}`)
  screen.printMessage(`  Approve it from another terminal: ${command}`)
}
