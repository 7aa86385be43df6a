import { useQuery } from '@tanstack/react-query'
import { CircleCheck } from 'lucide-react'
import { Link } from 'react-router'
import { approvalsQuery } from '../../api/queries.ts'
import { ForeignName } from '../../parts/foreign-text.tsx'
import { formatCountdown } from '../../parts/format.ts'
import { useNow } from '../../parts/use-now.ts'
import { type AttentionItem, useAttention } from '../../shell/attention.ts'

const NOTES: Readonly<Record<AttentionItem['kind'], string>> = {
  waiting: '',
  changed: 'Their calls are refused until you accept the change.',
  login: 'Their tools are listed and cannot be called.',
  down: 'Started again after a while, longer each time.',
}
const ACTIONS: Readonly<Record<AttentionItem['kind'], string>> = {
  waiting: 'Review',
  changed: 'See the changes',
  login: 'Log in',
  down: 'Open',
}

/** What needs a person, with the button that ends it. */
export function TodoPanel() {
  const items = useAttention()
  if (items.length === 0)
    return (
      <section className="panel" aria-label="What needs you">
        <div className="todo">
          <CircleCheck className="i t-ok" aria-hidden="true" />
          <p>No call waits, no definition has changed, all servers work.</p>
        </div>
      </section>
    )
  return (
    <section className="panel" aria-label="What needs you">
      {items.map(({ kind, icon: Icon, tone, text, to }, index) => (
        <div className="todo" key={kind}>
          <Icon className={`i t-${tone}`} aria-hidden="true" />
          <div>
            <p>
              <strong>{text}.</strong>
            </p>
            {kind === 'waiting' ? <OldestWaiting /> : <p>{NOTES[kind]}</p>}
          </div>
          <Link className={`btn ${index === 0 ? 'btn-primary' : ''}`} to={to}>
            {ACTIONS[kind]}
          </Link>
        </div>
      ))}
    </section>
  )
}

function OldestWaiting() {
  const [oldest] = useQuery(approvalsQuery).data ?? []
  const now = useNow()
  if (oldest === undefined) return null
  return (
    <p>
      {oldest.agent} wants <ForeignName name={`${oldest.server}/${bareName(oldest)}`} />. It is refused in{' '}
      {formatCountdown(Date.parse(oldest.expiresAt) - now)} if nobody answers.
    </p>
  )
}

const bareName = ({ server, tool }: { readonly server: string; readonly tool: string }): string =>
  tool.startsWith(`mcp__${server}__`) ? tool.slice(server.length + 7) : tool
