import { useQuery } from '@tanstack/react-query'
import { Check, ChevronRight, CircleSlash, KeyRound, LoaderCircle, type LucideIcon, Unplug } from 'lucide-react'
import { useNavigate } from 'react-router'
import type { ServerView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount, formatMs } from '../../parts/format.ts'
import { HealthStrip, healthQuery } from './health-strip.tsx'
import { ServerBody } from './server-body.tsx'

interface ServerRowProps {
  readonly server: ServerView
  readonly isOpen: boolean
  /** Whether its last day is shown. */
  readonly withHealth: boolean
}

export function ServerRow({ server, isOpen, withHealth }: ServerRowProps) {
  const { id, state, tools, config } = server
  const navigate = useNavigate()
  const { data: health } = useQuery({ ...healthQuery(id), enabled: withHealth })
  const latency = health?.latency
  const restarts = health?.restarts ?? server.restarts
  return (
    <li>
      <details
        className="server"
        open={isOpen}
        onToggle={({ currentTarget }) => {
          if (currentTarget.open === isOpen) return
          void navigate(currentTarget.open ? `/servers/${encodeURIComponent(id)}` : '/servers', { replace: true })
        }}
      >
        <summary>
          <ChevronRight className="i i-s" aria-hidden="true" />
          <strong className="cut">
            <ForeignText text={config.title ?? id} />
          </strong>
          <ServerState state={state} />
          <span className="s-strip">{health && <HealthStrip health={health} />}</span>
          <span className="num small muted s-more">
            {latency && `${formatMs(latency.p50)} / ${formatMs(latency.p95)}`}
          </span>
          <span className="num small muted s-more">{formatCount(tools, 'tool')}</span>
          <span className="num small muted s-more">{restarts > 0 && formatCount(restarts, 'restart')}</span>
        </summary>
        {isOpen && <ServerBody server={server} health={health} />}
      </details>
    </li>
  )
}

const STATES: Readonly<Record<ServerView['state'], readonly [style: string, sign: LucideIcon, words: string]>> = {
  ready: ['ready', Check, 'ready'],
  starting: ['off', LoaderCircle, 'starting'],
  stopped: ['off', CircleSlash, 'stopped'],
  disabled: ['off', CircleSlash, 'disabled'],
  closed: ['off', CircleSlash, 'closed'],
  restarting: ['backoff', Unplug, 'restarting'],
  broken: ['failed', Unplug, 'broken'],
  'needs-login': ['login', KeyRound, 'needs a login'],
}

function ServerState({ state }: Pick<ServerView, 'state'>) {
  const [style, Sign, words] = STATES[state]
  return (
    <span className={`state state-${style}`}>
      <Sign className="i i-s" aria-hidden="true" /> {words}
    </span>
  )
}
