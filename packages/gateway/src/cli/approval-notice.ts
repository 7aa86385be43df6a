import { type LoggedEvent, SallyportError, shellWord } from '@sallyport/core'
import type { CliContext } from './cli-context.ts'
import { stateOf } from './find-home.ts'
import type { GatewayClient } from './gateway-client.ts'
import type { GlobalFlags } from './global-flags.ts'
import { localTime } from './local-time.ts'
import { reportBug } from './print-error.ts'
import type { Screen } from './screen.ts'
import { visibleLine } from './terminal-text.ts'

type Requested = Extract<LoggedEvent, { type: 'APPROVAL_REQUESTED' }>

export interface NoticeOptions {
  readonly client: GatewayClient
  readonly trace: string
  readonly onRequested: (event: Requested) => void
  readonly signal: AbortSignal
}

/** Tells of each time that a call of the trace waits for somebody, until the signal. The call says itself what fails. */
export async function noticeApprovals({ client, trace, onRequested, signal }: NoticeOptions): Promise<void> {
  try {
    // The call may be quicker than this: then the feed begins with what was.
    const events = client.follow({ type: 'APPROVAL_REQUESTED', trace, limit: 10 }, signal)
    for await (const event of events) onRequested(event as Requested)
  } catch (error) {
    if (!signal.aborted && !(error instanceof SallyportError)) reportBug(error, 'approval notice')
  }
}

/** How to answer it, for somebody in another terminal: a state that is not the usual one has to be named there. */
export function answerCommand(context: CliContext, flags: GlobalFlags, approval: string): string {
  const isUsual = flags.state === undefined && !context.environment.SALLYPORT_STATE
  const words = [
    'sallyport',
    'approvals',
    'approve',
    approval,
    ...(isUsual ? [] : ['--state', stateOf(context, flags)]),
  ]
  return words.map(shellWord).join(' ')
}

/** On stderr in any case: stdout is for the answer. */
export function sayWaiting(screen: Screen, { approval, expires, reason }: Requested, command: string): void {
  if (screen.json) return screen.say(JSON.stringify({ waiting: { approval, expires, reason, command } }))
  screen.say(`… The call waits for approval ${approval}, until ${localTime(expires)}. ${visibleLine(reason)}`)
  screen.say(`  Let it be made, from another terminal: ${command}`)
}
