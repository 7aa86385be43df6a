import { Link } from 'react-router'
import type { SavingsHistory } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName } from '../../parts/foreign-text.tsx'
import { formatNumber, formatShort } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'

interface Kept {
  readonly shaped: number
  readonly isolated: number
  readonly selected?: number
}

const sumKept = ({ shaped, isolated, selected = 0 }: Kept): number => shaped + isolated + selected

export const ToolSavings = ({ tools }: Pick<SavingsHistory, 'tools'>) => (
  <Panel title="By tool" sub="shaping and context isolation">
    {tools.length === 0 ? (
      <p className="pad muted">Every result in this time went to its agent in full.</p>
    ) : (
      <div className="scroll-x">
        <table className="table compact">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col" className="phone-hide">
                <span className="vh">Share</span>
              </th>
              <th scope="col" className="num">
                Shortened
              </th>
              <th scope="col" className="num">
                Kept out
              </th>
            </tr>
          </thead>
          <tbody>
            {tools.map((tool) => (
              <tr key={tool.name}>
                <td className="fill">
                  <ForeignName name={toShownName(tool.name)} />
                </td>
                <td className="phone-hide">
                  <ShareBar row={tool} max={sumKept(tools[0] ?? tool)} />
                </td>
                <td className="num muted">
                  {formatNumber(tool.shortened)} of {formatNumber(tool.calls)}
                </td>
                <td className="num">
                  <strong title={formatNumber(sumKept(tool))}>{formatShort(sumKept(tool))}</strong>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </Panel>
)

export const ProfileSavings = ({ profiles }: Pick<SavingsHistory, 'profiles'>) => (
  <Panel title="By profile" sub="with selection">
    <div className="scroll-x">
      <table className="table compact">
        <thead>
          <tr>
            <th scope="col">Profile</th>
            <th scope="col" className="phone-hide">
              <span className="vh">Share</span>
            </th>
            <th scope="col" className="num">
              Definitions per turn
            </th>
            <th scope="col" className="num">
              Kept out
            </th>
          </tr>
        </thead>
        <tbody>
          {profiles.map((row) => (
            <tr key={`${row.agent}.${row.profile}`}>
              <td className="fill">
                <Link to={`/agents/${encodeURIComponent(`${row.agent}.${row.profile}`)}`}>
                  <ForeignName name={`${row.agent}.${row.profile}`} />
                </Link>
              </td>
              <td className="phone-hide">
                <ShareBar row={row} max={sumKept(profiles[0] ?? row)} />
              </td>
              <td className="num muted">
                {row.definitions === undefined
                  ? 'deleted'
                  : `${formatShort(row.definitions.selected)} of ${formatShort(row.definitions.available)}`}
              </td>
              <td className="num">
                <strong title={formatNumber(sumKept(row))}>{formatShort(sumKept(row))}</strong>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </Panel>
)

/** `filesystem/read_file` of the recorded `mcp__filesystem__read_file`. */
function toShownName(recorded: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(recorded) ?? []
  return server === undefined ? recorded : `${server}/${tool}`
}

/** How much of the largest row this one is, and by what. */
function ShareBar({ row, max }: { readonly row: Kept; readonly max: number }) {
  const { shaped, isolated, selected = 0 } = row
  const scale = max === 0 ? 0 : 100 / max
  return (
    <svg className="share-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect className="k1" width={shaped * scale} height="10" />
      <rect className="k2" x={shaped * scale} width={selected * scale} height="10" />
      <rect className="k3" x={(shaped + selected) * scale} width={isolated * scale} height="10" />
    </svg>
  )
}
