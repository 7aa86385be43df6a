import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import type { ServerHealth, ServerView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount, formatCountdown, formatMs, formatWhen } from '../../parts/format.ts'
import { useNow } from '../../parts/use-now.ts'
import { useMay } from '../../shell/roles.ts'
import { EditServer } from './edit-server.tsx'
import { ServerActions } from './server-actions.tsx'

interface ServerBodyProps {
  readonly server: ServerView
  readonly health: ServerHealth | undefined
}

const MAX_LINE = 2_000
const MAX_TOOLS = 100
const MAX_CHANGES = 5

export function ServerBody({ server, health }: ServerBodyProps) {
  const { id, reason, retryAt, messages, leftOut, tools } = server
  const mayChange = useMay('operator')
  const isEdited = useSearchParams()[0].has('edit') && mayChange && server.kind !== 'built-in'
  if (isEdited)
    return (
      <div className="server-body">
        <EditServer id={id} />
      </div>
    )
  return (
    <div className="server-body">
      {reason !== undefined && (
        <p>
          <ForeignText text={reason} limit={MAX_LINE} /> {retryAt !== undefined && <NextTry at={retryAt} />}
        </p>
      )}
      <ServerFacts server={server} health={health} />
      {messages.length > 0 && (
        <div className="stack-s">
          <h3>Last messages</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard. */}
          <section className="code code-plain soft messages" aria-label={`Last messages of ${id}`} tabIndex={0}>
            {messages.map((message, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their position.
              <span key={index}>
                <ForeignText text={message} limit={MAX_LINE} />
              </span>
            ))}
          </section>
        </div>
      )}
      {tools > 0 && <ToolNames server={id} />}
      {leftOut.length > 0 && (
        <ul className="stack-s">
          {leftOut.map(({ name, reason: why }) => (
            <li key={name} className="small muted">
              <ForeignName name={name} /> is left out: <ForeignText text={why} limit={MAX_LINE} />
            </li>
          ))}
        </ul>
      )}
      <ServerActions server={server} />
    </div>
  )
}

function NextTry({ at }: { readonly at: number }) {
  const now = useNow()
  return (
    <span className="muted">
      Next try in <strong>{formatCountdown(at - now)}</strong>.
    </span>
  )
}

function ServerFacts({ server: { kind, restarts, since, config, counterpart }, health }: ServerBodyProps) {
  const start = [config.command, ...(config.args ?? [])].filter((part) => part !== undefined).join(' ')
  const names = [...(config.env ?? []), ...(config.headers ?? [])]
  const changes = health?.changes.slice(-MAX_CHANGES).toReversed() ?? []
  return (
    <dl className="dl">
      {kind !== 'built-in' && (
        <>
          <dt>{config.url === undefined ? 'Started by' : 'Address'}</dt>
          <dd>
            <code>
              <ForeignText text={config.url ?? start} limit={MAX_LINE} />
            </code>
          </dd>
          <dt>Defined in</dt>
          <dd>
            <code>
              {config.location.file}:{config.location.line}
            </code>
          </dd>
        </>
      )}
      {kind === 'built-in' && (
        <>
          <dt>Kind</dt>
          <dd>The gateway’s own tools</dd>
        </>
      )}
      {names.length > 0 && (
        <>
          <dt>{config.url === undefined ? 'Variables' : 'Headers'}</dt>
          <dd>
            <ForeignText text={names.join(', ')} limit={MAX_LINE} />
          </dd>
        </>
      )}
      <dt>In this state since</dt>
      <dd>
        {formatWhen(since)}, {formatCount(health?.restarts ?? restarts, 'restart')} in the last 24 hours
      </dd>
      {health?.latency && (
        <>
          <dt>Latency</dt>
          <dd>
            half of {formatCount(health.latency.calls, 'call')} within {formatMs(health.latency.p50)}, 95% within{' '}
            {formatMs(health.latency.p95)}, at most {formatMs(health.latency.max)}
          </dd>
        </>
      )}
      {counterpart && (
        <>
          <dt>Isolated instance</dt>
          <dd>
            {counterpart.state},{' '}
            {formatCount(counterpart.missing.length + counterpart.differing.length, 'different tool')}
          </dd>
        </>
      )}
      {changes.map((change) => (
        <ToolChange key={change.time} change={change} />
      ))}
    </dl>
  )
}

const MAX_NAMES = 10

function ToolChange({
  change: { time, added, removed, changed },
}: {
  readonly change: ServerHealth['changes'][number]
}) {
  const names = [
    ...added.map((name) => `+ ${name}`),
    ...removed.map((name) => `− ${name}`),
    ...changed.map((name) => `changed: ${name}`),
  ]
  if (names.length === 0) return null
  const more = names.length - MAX_NAMES
  return (
    <>
      <dt>Tools at {formatWhen(time)}</dt>
      <dd>
        <ForeignText text={names.slice(0, MAX_NAMES).join(', ')} limit={MAX_LINE} />
        {more > 0 && `, and ${more} more`}
      </dd>
    </>
  )
}

function ToolNames({ server }: { readonly server: string }) {
  const { data: tools = [] } = useQuery({
    queryKey: ['tools', 'of', server],
    queryFn: async () => (await read(api.tools.$get({ query: { server } }))).tools,
  })
  if (tools.length === 0) return null
  return (
    <div className="stack-s">
      <h3>{formatCount(tools.length, 'tool')}</h3>
      <ul className="chips">
        {tools.slice(0, MAX_TOOLS).map(({ canonical, tool }) => (
          <li key={canonical} className="tag">
            <ForeignName name={tool} />
          </li>
        ))}
        {tools.length > MAX_TOOLS && <li className="muted">and {tools.length - MAX_TOOLS} more</li>}
      </ul>
    </div>
  )
}
