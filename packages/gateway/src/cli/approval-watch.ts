import type { LoggedEvent } from '@sallyport/core'
import { SallyportError } from '@sallyport/core'
import { ApprovalDialogue } from './approval-dialogue.ts'
import type { CliContext } from './cli-context.ts'
import { stateOf } from './find-home.ts'
import { followEvents } from './follow-events.ts'
import type { ApprovalView } from './gateway-client.ts'
import type { GlobalFlags } from './global-flags.ts'
import { reachRunning, withRecords } from './reach-gateway.ts'
import { createScreen, type Screen } from './screen.ts'
import { isTerminal } from './terminal-question.ts'

const TYPES = ['APPROVAL_REQUESTED', 'APPROVAL_ANSWERED', 'APPROVAL_EXPIRED'] as const

type ApprovalEvent = Extract<LoggedEvent, { type: (typeof TYPES)[number] }>
export type ApprovalEnd = Exclude<ApprovalEvent, { type: 'APPROVAL_REQUESTED' }>

/** Whoever is told of requests and of their ends. */
interface Audience {
  requested(approval: ApprovalView): void
  ended(event: ApprovalEnd): void
}

/** Tells of every request until it is interrupted, and asks about each where somebody sits who can answer. */
export async function watchApprovals(context: CliContext, flags: GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const isAnswered = !screen.json && isTerminal(context) && context.process.stdout.isTTY === true
  if (!isAnswered) return follow(context, flags, createPrinter(screen))
  const state = stateOf(context, flags)
  const dialogue = new ApprovalDialogue({ context, screen, reach: () => reachRunning(state) })
  screen.say('Waiting for requests. Ctrl-C ends.')
  await Promise.race([follow(context, flags, dialogue), dialogue.over])
}

function createPrinter(screen: Screen): Audience {
  return {
    requested: (approval) => screen.dataJson({ event: 'requested', approval }),
    ended: (event) => screen.dataJson(lineOf(event)),
  }
}

function lineOf(event: ApprovalEnd): object {
  const { approval: id, tool_name: tool } = event
  if (event.type === 'APPROVAL_EXPIRED') return { event: 'expired', id, tool, reason: event.reason }
  const { answer, by, via, why, unwritten } = event
  const more = { ...(why !== undefined && { why }), ...(unwritten !== undefined && { unwritten }) }
  return { event: 'answered', id, tool, answer, by, via, ...more }
}

/** What waits already comes first; the log's own numbers close the gap to what comes after. */
async function follow(context: CliContext, flags: GlobalFlags, audience: Audience): Promise<void> {
  const { signal, process } = context
  const state = stateOf(context, flags)
  const told = new Set<string>()
  const tell = (approval: ApprovalView): void => {
    if (told.has(approval.id)) return
    told.add(approval.id)
    audience.requested(approval)
  }
  const asked = context.now()
  const { after, waiting } = await withRecords(context, flags, async (client) => ({
    after: (await client.events({ limit: 1 })).at(-1),
    waiting: await client.approvals(),
  }))
  for (const approval of waiting) tell(approval)
  let turn = Promise.resolve()
  const onEvent = (event: LoggedEvent): void => {
    turn = turn.then(() => heed(event as ApprovalEvent, { state, tell, audience }))
  }
  const onSkipped = (count: number): void => void process.stderr.write(`! ${count} events were missed.\n`)
  const onWaiting = (): void => void process.stderr.write(`No gateway runs on the state ${state}; waiting for one.\n`)
  const query = { type: TYPES.join(',') }
  await followEvents({ state, query, after, asked, onEvent, onSkipped, onWaiting, signal })
}

interface Heeding {
  readonly state: string
  readonly tell: (approval: ApprovalView) => void
  readonly audience: Audience
}

async function heed(event: ApprovalEvent, { state, tell, audience }: Heeding): Promise<void> {
  if (event.type !== 'APPROVAL_REQUESTED') return audience.ended(event)
  try {
    const approval = await (await reachRunning(state))?.approval(event.approval)
    if (approval) tell(approval)
  } catch (error) {
    // It is over already, which is an event of its own.
    if (!(error instanceof SallyportError)) throw error
  }
}
