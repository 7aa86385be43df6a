import type { Principal, SallyportEvent } from '@sallyport/core'
import type { ApprovalSubject } from './approval.ts'
import { Approvals, type ApprovalsOptions } from './approvals.ts'

export const ANN: Principal = { user: 'ann', agent: 'codex', profile: 'default', session: 's1', role: 'agent' }

export const SUBJECT: ApprovalSubject = {
  callId: 'c1',
  traceId: 't1',
  principal: ANN,
  server: 'notes',
  method: 'tools/call',
  tool: 'mcp__notes__delete',
  isMcp: true,
  arguments: { id: 3 },
  secrets: 'refuse',
  permission: ['READ', 'WRITE'],
  definition: 'sha256-1',
  risk: 'high',
  reason: 'high risk',
  rule: { file: 'tools.yaml', line: 12 },
}

export const YES = { answer: 'once', by: 'olga', via: 'api' } as const

/** Creates approvals that record their events in an array. */
export function createApprovals(options: Partial<ApprovalsOptions> = {}) {
  const events: SallyportEvent[] = []
  let ids = 0
  const approvals = new Approvals({
    record: async (event) => void events.push(event),
    timeout: () => 60_000,
    argumentsToRecord: (args) => args,
    allowAlways: async () => async () => undefined,
    newId: () => `a${++ids}`,
    now: () => Date.now(),
    ...options,
  })
  return { approvals, events }
}
