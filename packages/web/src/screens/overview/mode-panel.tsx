import { useQuery } from '@tanstack/react-query'
import { modeQuery } from '../../api/queries.ts'
import { Panel } from '../../parts/page.tsx'
import { Gate } from '../../parts/signs.tsx'
import { MODES } from '../../shell/mode-change.ts'
import { ModeSince } from '../../shell/mode-since.tsx'
import { PanicButton } from '../../shell/panic-button.tsx'

export function ModePanel() {
  const view = useQuery(modeQuery).data
  if (view === undefined) return null
  return (
    <Panel title="Mode">
      <div className="mode-now">
        <Gate mode={view.mode} />
        <b>{view.mode}</b>
        <p className="muted">Allows {MODES.find(([mode]) => mode === view.mode)?.[1]}.</p>
        <p className="small faint">
          <ModeSince view={view} />
        </p>
      </div>
      <ol className="mode-scale" aria-label="From the most open to the strictest">
        {MODES.map(([mode]) => (
          <li key={mode} title={mode} aria-current={mode === view.mode ? 'true' : undefined}>
            <Gate mode={mode} />
            <span className="vh">{mode}</span>
          </li>
        ))}
      </ol>
      <p className="mode-ends" aria-hidden="true">
        <span>most open</span>
        <span>strictest</span>
      </p>
      {view.mode !== 'LOCKDOWN' && (
        <div className="row">
          <PanicButton isQuiet />
        </div>
      )}
    </Panel>
  )
}
