import { type LoggedEvent, SallyportError } from '@sallyport/core'
import { followEvents } from '../audit/follow-events.ts'
import type { CliContext } from '../cli-context.ts'
import { resolveState } from '../find-home.ts'
import type { ApprovalView } from '../gateway/gateway-client.ts'
import { findRunningGateway, withRecords } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { isTerminal } from '../terminal/ask-terminal.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import { ApprovalPrompt } from './approval-prompt.ts'

const APPROVAL_EVENT_TYPES = ['APPROVAL_REQUESTED', 'APPROVAL_ANSWERED', 'APPROVAL_EXPIRED'] as const

type ApprovalEvent = Extract<LoggedEvent, { type: (typeof APPROVAL_EVENT_TYPES)[number] }>
export type ApprovalEnd = Exclude<ApprovalEvent, { type: 'APPROVAL_REQUESTED' }>

/** Is notified of requests and of their end. */
interface ApprovalListener {
  onRequested(approval: ApprovalView): void
  onEnded(event: ApprovalEnd): void
}

/** Reports every request until it is interrupted. In a terminal it also asks the user to answer each one. */
export async function watchApprovals(context: CliContext, flags: GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const isInteractive = !screen.json && isTerminal(context) && context.process.stdout.isTTY === true
  if (!isInteractive) return followApprovals(context, flags, createPrinter(screen))
  const state = resolveState(context, flags)
  const prompt = new ApprovalPrompt({ context, screen, reach: () => findRunningGateway(state) })
  screen.printMessage('Waiting for requests. Ctrl-C ends.')
  await Promise.race([followApprovals(context, flags, prompt), prompt.closed])
}

function createPrinter(screen: Screen): ApprovalListener {
  return {
    onRequested: (approval) => screen.printJson({ event: 'requested', approval }),
    onEnded: (event) => screen.printJson(toJsonLine(event)),
  }
}

function toJsonLine(event: ApprovalEnd): object {
  const { approval: id, tool_name: tool } = event
  if (event.type === 'APPROVAL_EXPIRED') return { event: 'expired', id, tool, reason: event.reason }
  const { answer, by, via, why, unwritten } = event
  const more = { ...(why !== undefined && { why }), ...(unwritten !== undefined && { unwritten }) }
  return { event: 'answered', id, tool, answer, by, via, ...more }
}

/**
 * Reports pending requests first, then new ones. The sequence numbers of the log ensure that none is missed in between.
 */
async function followApprovals(context: CliContext, flags: GlobalFlags, listener: ApprovalListener): Promise<void> {
  const { signal, process } = context
  const state = resolveState(context, flags)
  const reported = new Set<string>()
  const report = (approval: ApprovalView): void => {
    if (reported.has(approval.id)) return
    reported.add(approval.id)
    listener.onRequested(approval)
  }
  const asked = context.now()
  const { after, waiting } = await withRecords(context, flags, async (client) => ({
    after: (await client.events({ limit: 1 })).at(-1),
    waiting: await client.approvals(),
  }))
  for (const approval of waiting) report(approval)
  let turn = Promise.resolve()
  const onEvent = (event: LoggedEvent): void => {
    turn = turn.then(() => handleEvent(event as ApprovalEvent, { state, report, listener }))
  }
  const onSkipped = (count: number): void => void process.stderr.write(`! ${count} events were missed.\n`)
  const onWaiting = (): void => void process.stderr.write(`No gateway runs on the state ${state}; waiting for one.\n`)
  const query = { type: APPROVAL_EVENT_TYPES.join(',') }
  await followEvents({ state, query, after, asked, onEvent, onSkipped, onWaiting, signal })
}

interface EventContext {
  readonly state: string
  readonly report: (approval: ApprovalView) => void
  readonly listener: ApprovalListener
}

async function handleEvent(event: ApprovalEvent, { state, report, listener }: EventContext): Promise<void> {
  if (event.type !== 'APPROVAL_REQUESTED') return listener.onEnded(event)
  try {
    const approval = await (await findRunningGateway(state))?.approval(event.approval)
    if (approval) report(approval)
  } catch (error) {
    // The request has ended already, which is a separate event.
    if (!(error instanceof SallyportError)) throw error
  }
}
