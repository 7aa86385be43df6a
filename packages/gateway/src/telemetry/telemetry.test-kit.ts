import type { CallEnd, CallObserver, ObservedCall } from './call-observer.ts'

export const observedCall = (tool: string, server = 'files', changes: Partial<ObservedCall> = {}): ObservedCall => ({
  id: 'c1',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  principal: { user: 'ann', agent: 'codex', profile: 'reviewer', session: 's1', role: 'agent' },
  method: 'tools/call',
  offer: { kind: 'tool', server, name: tool, wire: `${server}_${tool}`, recordName: `mcp__${server}__${tool}` },
  params: {},
  ...changes,
})

/** A call that was allowed, sent and answered. */
export function observeWholeCall(
  observer: CallObserver,
  call: ObservedCall,
  end: CallEnd = { outcome: 'success' },
): void {
  const watch = observer.begin(call)
  watch.decided({ outcome: 'allow', verdicts: [] }, call)
  watch.sent({ kind: 'stdio' })
  watch.answered(end)
  watch.ended(end)
}
