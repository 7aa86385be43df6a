import { useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { modeQuery } from '../api/queries.ts'
import { Gate } from '../parts/signs.tsx'

const ModePopup = lazy(async () => ({ default: (await import('./mode-popup.tsx')).ModePopup }))

/** The mode, on every screen; a click shows what it means and how to change it. */
export function ModeMenu() {
  const view = useQuery(modeQuery).data
  const [isOpen, open] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  if (view === undefined) return <span className="mode">…</span>
  return (
    <>
      <button
        ref={button}
        className="mode"
        type="button"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => open(true)}
      >
        <Gate mode={view.mode} />
        <span className="vh">Mode: </span>
        {view.mode}
        <ChevronDown className="i i-s" aria-hidden="true" />
      </button>
      {isOpen && (
        <Suspense>
          <ModePopup view={view} anchor={button} onClose={() => open(false)} />
        </Suspense>
      )}
    </>
  )
}
