import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatBytes, formatCount } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { VerdictMark } from '../../parts/signs.tsx'

type Egress = Extract<EventView, { type: 'EGRESS_DECIDED' }>

/** What the server in its sandbox wanted to reach meanwhile. */
export function EgressPanel({ records }: { readonly records: readonly EventView[] }) {
  const decisions = records.filter((record): record is Egress => record.type === 'EGRESS_DECIDED')
  if (decisions.length === 0) return null
  return (
    <Panel title="Egress" sub="what its server wanted to reach during this call">
      <ul>
        {decisions.map(({ seq, host, port, address, allowed, reason, sent, received, count }) => (
          <li className="row" key={seq}>
            <VerdictMark kind={allowed ? 'allow' : 'deny'} />
            <span className="vh">{allowed ? 'allowed' : 'refused'}</span>
            <span className="grow">
              <code>
                <ForeignText text={`${host}:${port}`} limit={200} />
              </code>
              {address !== undefined && address !== host && <span className="faint"> {address}</span>}
              <span className="small muted block">
                <ForeignText text={reason} limit={300} />
                {sent !== undefined && ` · ${formatBytes(sent)} sent, ${formatBytes(received ?? 0)} received`}
                {count !== undefined && ` · and ${formatCount(count, 'time')} more`}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
