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

/** Tells of each time that a call of the trace waits for somebody, until the signal. The call says itself what fails. */
export async function followApprovalRequests({
  client,
  trace,
  onRequested,
  signal,
}: ApprovalNoticeOptions): Promise<void> {
  try {
    // The call may be quicker than this: then the feed begins with what was.
    const events = client.follow({ type: 'APPROVAL_REQUESTED', trace, limit: 10 }, signal)
    for await (const event of events) onRequested(event as ApprovalRequestedEvent)
  } catch (error) {
    if (!signal.aborted && !(error instanceof SallyportError)) reportBug(error, 'approval notice')
  }
}

/** How to answer it, for somebody in another terminal: a state that is not the usual one has to be named there. */
export function buildApproveCommand(context: CliContext, flags: GlobalFlags, approval: string): string {
  const isUsual = flags.state === undefined && !context.environment.SALLYPORT_STATE
  const words = [
    'sallyport',
    'approvals',
    'approve',
    approval,
    ...(isUsual ? [] : ['--state', resolveState(context, flags)]),
  ]
  return words.map(quoteForShell).join(' ')
}

/** On stderr in any case: stdout is for the answer. */
export function printWaiting(
  screen: Screen,
  { approval, expires, reason }: ApprovalRequestedEvent,
  command: string,
): void {
  if (screen.json) return screen.printMessage(JSON.stringify({ waiting: { approval, expires, reason, command } }))
  screen.printMessage(
    `… The call waits for approval ${approval}, until ${formatLocalTime(expires)}. ${visibleLine(reason)}`,
  )
  screen.printMessage(`  Let it be made, from another terminal: ${command}`)
}
