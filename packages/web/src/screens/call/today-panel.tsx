import { useQuery } from '@tanstack/react-query'
import type { CallToday } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatRule } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { Verdict, type VerdictKind, VerdictMark } from '../../parts/signs.tsx'
import { Failed, Loading } from '../../parts/states.tsx'

const KINDS: Readonly<Record<CallToday['now'], VerdictKind>> = {
  ...{ allow: 'allow', ask: 'ask', deny: 'deny', undecided: 'off' },
}

const SENTENCES: Readonly<Record<CallToday['now'], string>> = {
  allow: 'The rules of now would allow it.',
  ask: 'The rules of now would ask a person.',
  deny: 'The rules of now would refuse it.',
  undecided: 'This cannot be known.',
}

/** What the rules of now would decide. Nothing is called. */
export function TodayPanel({ callId }: { readonly callId: string }) {
  const query = useQuery({
    queryKey: ['tools', 'today', callId],
    queryFn: () => read(api.calls[':id'].today.$get({ param: { id: callId } })),
  })
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  if (query.data === undefined) return <Loading what="what the rules of now would decide" />
  const { before, now, mode, step, reason, rule } = query.data
  return (
    <Panel title="Decided again" sub={`by the rules of now, in ${mode}; nothing was called`}>
      <div className="verdict" role="status">
        <VerdictMark kind={KINDS[now]} className="big" />
        <div>
          <p>
            {SENTENCES[now]} {now === before && 'As they did then.'}
          </p>
          <p className="muted">
            {step && <code>{step} </code>}
            <ForeignText text={reason} limit={500} /> {rule && <code title={rule.file}>{formatRule(rule)}</code>}
          </p>
        </div>
        {now !== before && (
          <div className="actions">
            <span className="small muted">then</span> <Verdict kind={KINDS[before]} />
          </div>
        )}
      </div>
    </Panel>
  )
}
