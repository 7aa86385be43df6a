import { useQuery } from '@tanstack/react-query'
import type { SandboxListView, SessionView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount, formatWhen } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'

/** What the programs of a session can reach now. */
export function SandboxPanel({ session: { session, user } }: { readonly session: SessionView }) {
  const query = useQuery({ queryKey: ['sessions', 'sandboxes'], queryFn: () => read(api.sandboxes.$get()) })
  return (
    <Panel title="Sandboxes" sub="the programs that run for this session, and what they reach now">
      <Loaded query={query} what="the sandboxes">
        {(sandboxes) => <SandboxTable rows={findProcesses(sandboxes, { session, user })} list={sandboxes} />}
      </Loaded>
    </Panel>
  )
}

type Process = SandboxListView['servers'][number]['processes'][number] & { readonly server: string }

const findProcesses = (
  { servers }: SandboxListView,
  { session, user }: Pick<SessionView, 'session' | 'user'>,
): readonly Process[] =>
  servers.flatMap(({ server, processes }) =>
    processes
      .filter((process) => process.session === session && process.user === user)
      .map((process) => ({ ...process, server })),
  )

interface SandboxTableProps {
  readonly rows: readonly Process[]
  readonly list: SandboxListView
}

function SandboxTable({ rows, list }: SandboxTableProps) {
  const outside = list.servers.filter(({ network }) => network === undefined)
  return (
    <>
      {rows.length === 0 ? (
        <p className="pad muted">
          No program runs in a sandbox for it now. <code>sandbox: auto</code> in the entry of a server gives it one.
        </p>
      ) : (
        <div className="scroll-x">
          <table className="table">
            <thead>
              <tr>
                <th>Server</th>
                <th>Driver</th>
                <th>Network</th>
                <th>May reach</th>
                <th className="num">Since</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ server, driver, mode, reaches, since }) => (
                <tr key={`${server} ${since}`}>
                  <td>
                    <ForeignName name={server} />
                  </td>
                  <td>{driver}</td>
                  <td>
                    <strong>{mode}</strong>
                  </td>
                  <td className="wrap">{reaches.length === 0 ? 'nothing' : reaches.join(', ')}</td>
                  <td className="num muted">{formatWhen(since)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {outside.length > 0 && (
        <details className="blocked">
          <summary className="muted">{formatCount(outside.length, 'server')} without a sandbox</summary>
          <ul className="remedies small">
            {outside.map(({ server, reason = '' }) => (
              <li key={server}>
                <ForeignName name={server} />{' '}
                <span className="muted">
                  <ForeignText text={reason} limit={300} />
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
