import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { modeQuery } from '../api/queries.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Gate } from '../parts/signs.tsx'
import { ModeReason } from './mode-reason.tsx'
import { ModeSince } from './mode-since.tsx'
import { useMay } from './roles.ts'

/** In LOCKDOWN: a striped band, a frame around the page, and the way out. Otherwise it shows nothing. */
export function LockdownBand() {
  const view = useQuery(modeQuery).data
  const [isAsking, ask] = useState(false)
  const mayChange = useMay('operator')
  useEffect(() => {
    if (view) document.documentElement.dataset.mode = view.mode
  }, [view])
  if (view?.mode !== 'LOCKDOWN') return null
  return (
    <div className="band" role="alert">
      <Gate mode="LOCKDOWN" />
      <b>LOCKDOWN</b>
      <p>
        Only READ tools marked <code>essential</code> run, each with approval. <ModeSince view={view} />
      </p>
      {mayChange && (
        <button className="btn" type="button" onClick={() => ask(true)}>
          Go to RECOVERY…
        </button>
      )}
      <Dialog title="Leave LOCKDOWN" isOpen={isAsking} onClose={() => ask(false)}>
        <p className="muted">RECOVERY allows READ tools. From there you can go on to NORMAL.</p>
        <ModeReason mode="RECOVERY" onDone={() => ask(false)} />
      </Dialog>
    </div>
  )
}
