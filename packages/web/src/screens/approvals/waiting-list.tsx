import { Link } from 'react-router'
import type { ApprovalView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName } from '../../parts/foreign-text.tsx'
import { formatCountdown } from '../../parts/format.ts'
import { RiskSign } from '../../parts/signs.tsx'
import { useNow } from '../../parts/use-now.ts'

const SOON_MS = 120_000

interface WaitingListProps {
  readonly approvals: readonly ApprovalView[]
  readonly current: ApprovalView
}

export function WaitingList({ approvals, current }: WaitingListProps) {
  const now = useNow()
  return (
    <div className="inbox-list">
      <nav aria-label="Waiting calls">
        {approvals.map((approval) => (
          <Link
            key={approval.id}
            className="wait"
            to={`/approvals/${approval.id}`}
            replace
            aria-current={approval.id === current.id ? 'true' : undefined}
          >
            <Ring approval={approval} now={now} />
            <ForeignName name={shortName(approval)} className="tool-name" />
            <TimeLeft approval={approval} now={now} />
            <span className="sub cut">
              {approval.agent} · session {approval.session}
            </span>
            <RiskSign risk={approval.risk} />
          </Link>
        ))}
      </nav>
      <p className="hint phone-hide">
        <kbd>j</kbd> <kbd>k</kbd> move <span /> <kbd>a</kbd> approve <span /> <kbd>d</kbd> deny
      </p>
    </div>
  )
}

interface TimeProps {
  readonly approval: ApprovalView
  readonly now: number
}

/** `server/tool` for a tool; prompts and resources as they are. */
export const shortName = ({ server, tool }: Pick<ApprovalView, 'server' | 'tool'>): string => {
  const prefix = `mcp__${server}__`
  return tool.startsWith(prefix) ? `${server}/${tool.slice(prefix.length)}` : tool
}

const leftMs = ({ approval, now }: TimeProps): number => Math.max(0, Date.parse(approval.expiresAt) - now)

const TimeLeft = (props: TimeProps) => (
  <span className={`left-time ${leftMs(props) < SOON_MS ? 'soon' : ''}`}>{formatCountdown(leftMs(props))}</span>
)

function Ring(props: TimeProps) {
  const { requestedAt, expiresAt } = props.approval
  const share = (100 * leftMs(props)) / Math.max(1, Date.parse(expiresAt) - Date.parse(requestedAt))
  return (
    <svg className="countdown" viewBox="0 0 30 30" aria-hidden="true">
      <circle cx="15" cy="15" r="12" />
      <circle
        className="left"
        cx="15"
        cy="15"
        r="12"
        pathLength="100"
        strokeDasharray={`${share} 100`}
        transform="rotate(-90 15 15)"
      />
    </svg>
  )
}
