import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { RuledTool, ToolsFilePreview } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount, formatNumber } from '../../parts/format.ts'
import type { toFileEdits } from './rule-edits.ts'

const DAY_MS = 86_400_000
const MAX_CHANGES = 5

type Replay = NonNullable<ToolsFilePreview['replay']>

interface ReplayEffectProps {
  readonly edits: ReturnType<typeof toFileEdits>
  readonly tools: readonly RuledTool[]
}

/** What the edits would have done to the calls of the last day: the gateway decides each of them again. */
export function ReplayEffect({ edits, tools }: ReplayEffectProps) {
  const query = useQuery({
    queryKey: ['rules-replay', edits],
    queryFn: async ({ signal }) => {
      const since = new Date(Date.now() - DAY_MS).toISOString()
      return (await read(api['tools-file'].preview.$post({ json: { edits, since } }, { init: { signal } }))).replay
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    gcTime: 0,
  })
  if (query.error)
    return <p className="small muted">What it would have done to recent calls is not known: {query.error.message}</p>
  if (query.data === undefined)
    return (
      <p className="small muted" role="status">
        Deciding the calls of the last 24 hours again…
      </p>
    )
  return <Effect replay={query.data} tools={tools} />
}

function Effect({ replay, tools }: { readonly replay: Replay; readonly tools: readonly RuledTool[] }) {
  const { calls, refused, asked, allowed, undecided, changes } = replay
  const nameOf = (canonical: string): string => {
    const found = tools.find((tool) => tool.canonical === canonical)
    return found ? `${found.server}/${found.tool}` : canonical
  }
  if (calls === 0) return <p className="small muted">There was no call in the last 24 hours on which to try it.</p>
  const more = [
    asked > 0 && `${formatNumber(asked)} would have waited for a person.`,
    allowed > 0 && `${formatNumber(allowed)} that did not run at once would have run.`,
    undecided > 0 && `${formatNumber(undecided)} cannot be decided: their records do not say enough.`,
  ].filter((sentence) => sentence !== false)
  return (
    <div className="stack-s" role="status" aria-label="Effect on recent calls">
      <p className={`big-n ${refused > 0 ? 'is-refusing' : ''}`}>
        Would have refused <strong>{formatNumber(refused)}</strong> of the {formatCount(calls, 'call')} of the last 24
        hours.
      </p>
      {more.map((sentence) => (
        <p key={sentence} className="small">
          {sentence}
        </p>
      ))}
      <ul className="replay-changes">
        {changes.slice(0, MAX_CHANGES).map(({ tool, from, to, reason, calls: count, examples: [example] }) => (
          <li key={`${tool} ${from} ${to} ${reason}`} className="small">
            {formatNumber(count)} × <ForeignName name={nameOf(tool)} />{' '}
            {example === undefined ? `${from} → ${to}` : <Link to={`/calls/${example}`}>{`${from} → ${to}`}</Link>}
            <span className="muted">
              {' '}
              <ForeignText text={reason} limit={120} />
            </span>
          </li>
        ))}
      </ul>
      {changes.length > MAX_CHANGES && <p className="small muted">and {changes.length - MAX_CHANGES} more</p>}
    </div>
  )
}
