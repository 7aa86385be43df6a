import type { ReactNode } from 'react'
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
      <KeptTable
        titles={['Tool', 'Shortened']}
        rows={tools.map((tool) => ({
          key: tool.name,
          kept: tool,
          name: <ForeignName name={toShownName(tool.name)} />,
          detail: `${formatNumber(tool.shortened)} of ${formatNumber(tool.calls)}`,
        }))}
      />
    )}
  </Panel>
)

export const ProfileSavings = ({ profiles }: Pick<SavingsHistory, 'profiles'>) => (
  <Panel title="By profile" sub="with selection">
    <KeptTable
      titles={['Profile', 'Definitions per turn']}
      rows={profiles.map((row) => {
        const { agent, profile, definitions } = row
        const name = `${agent}.${profile}`
        return {
          key: name,
          kept: row,
          name: (
            <Link to={`/agents/${encodeURIComponent(name)}`}>
              <ForeignName name={name} />
            </Link>
          ),
          detail: definitions
            ? `${formatShort(definitions.selected)} of ${formatShort(definitions.available)}`
            : 'deleted',
        }
      })}
    />
  </Panel>
)

interface KeptRow {
  readonly key: string
  readonly kept: Kept
  readonly name: ReactNode
  readonly detail: string
}

interface KeptTableProps {
  readonly titles: readonly [name: string, detail: string]
  /** The largest one first. */
  readonly rows: readonly KeptRow[]
}

const KeptTable = ({ titles: [name, detail], rows }: KeptTableProps) => (
  <div className="scroll-x">
    <table className="table compact">
      <thead>
        <tr>
          <th scope="col">{name}</th>
          <th scope="col" className="phone-hide">
            <span className="vh">Share</span>
          </th>
          <th scope="col" className="num">
            {detail}
          </th>
          <th scope="col" className="num">
            Kept out
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <td className="fill">{row.name}</td>
            <td className="phone-hide">
              <ShareBar row={row.kept} max={sumKept(rows[0]?.kept ?? row.kept)} />
            </td>
            <td className="num muted">{row.detail}</td>
            <td className="num">
              <strong title={formatNumber(sumKept(row.kept))}>{formatShort(sumKept(row.kept))}</strong>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
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
