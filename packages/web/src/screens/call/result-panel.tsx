import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EventView, StoredResultView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatBytes, formatNumber, formatShort } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'

type Ended = Extract<EventView, { type: 'TOOL_CALL_COMPLETED' | 'TOOL_CALL_FAILED' }>

const BYTES_PER_TOKEN = 4

/** What came from the server, and how much of it the agent got. */
export function ResultPanel({ end }: { readonly end: Ended }) {
  const { bytes, returned } = end
  if (bytes === undefined) return null
  const got = returned?.bytes ?? bytes
  return (
    <Panel title="Result" sub={returned === undefined ? 'the agent got all of it' : 'the agent got a part of it'}>
      <div className="pad stack-s">
        <dl className="sizes">
          <Size title="From the server" bytes={bytes} share={1} />
          <Size title="To the agent" bytes={got} share={bytes === 0 ? 0 : Math.min(1, got / bytes)} />
        </dl>
        {returned && (
          <p className="small muted">
            {returned.strategy === 'shaped' ? 'Shortened' : `Isolated (${returned.strategy})`}:{' '}
            <strong>{formatShort(returned.tokens_kept)} tokens</strong> were kept out of the agent’s context.
            {returned.fell_back && ` A model could not answer (${returned.fell_back}), so it was shortened.`}
          </p>
        )}
      </div>
      {returned?.handle === undefined ? (
        <p className="pad small muted">It is not stored: results are never part of the records.</p>
      ) : (
        <StoredResult callId={end.call_id} handle={returned.handle} />
      )}
    </Panel>
  )
}

interface SizeProps {
  readonly title: string
  readonly bytes: number
  readonly share: number
}

const Size = ({ title, bytes, share }: SizeProps) => (
  <div>
    <dt>{title}</dt>
    <dd>
      <svg className="wf" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
        <rect className="base" y="6" width="100" height="2" />
        <rect className="s" y="1" width={Math.max(1, share * 100)} height="12" rx="1" />
      </svg>
      <span className="num">
        {formatBytes(bytes)} · about {formatShort(Math.ceil(bytes / BYTES_PER_TOKEN))} tokens
      </span>
    </dd>
  </div>
)

/** Reading it is recorded, so it is read only if somebody asks for it. */
function StoredResult({ callId, handle }: { readonly callId: string; readonly handle: string }) {
  const mayRead = useMay('operator')
  const [isWanted, want] = useState(false)
  const query = useQuery({
    queryKey: ['stored-result', callId],
    enabled: isWanted,
    queryFn: () => read(api.calls[':id'].result.$post({ param: { id: callId }, json: { via: 'web' } })),
  })
  if (!mayRead) return <p className="pad small muted">It is stored as {handle}. An operator can read it.</p>
  if (query.data) return <ShownResult result={query.data} />
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  if (isWanted) return <Loading what="the stored result" />
  return (
    <div className="row">
      <span className="grow small muted">
        All of it is stored for its session as <code>{handle}</code>. Reading it is recorded.
      </span>
      <button className="btn btn-s" type="button" onClick={() => want(true)}>
        Show it
      </button>
    </div>
  )
}

const WHY_NOT: Readonly<Record<Exclude<StoredResultView['state'], 'stored'>, string>> = {
  whole: 'The agent got all of it, and nothing was stored.',
  none: 'It is not stored.',
  private: 'Its session has seen private data. What it stored is encrypted, and only the session itself reads it.',
  removed: 'It is not stored any more: it was too old, its session was purged, or there was no room.',
  large: 'It is too large to be shown here.',
  binary: 'It is an image or other bytes.',
}

function ShownResult({ result: { state, text = '', size = 0, isCut } }: { readonly result: StoredResultView }) {
  if (state !== 'stored')
    return (
      <div className="pad">
        <Note kind={state === 'private' ? 'ask' : 'plain'}>{WHY_NOT[state]}</Note>
      </div>
    )
  return (
    <div className="pad stack-s">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard. */}
      <section className="result" tabIndex={0} aria-label="The stored result">
        <pre className="code code-plain soft">
          <span>
            <ForeignText text={text} limit={8_000} />
          </span>
        </pre>
      </section>
      {isCut && <p className="small muted">Its beginning, of {formatNumber(size)} bytes.</p>}
    </div>
  )
}
