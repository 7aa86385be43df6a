import { Popover } from '@base-ui/react/popover'
import { type RefObject, useState } from 'react'
import type { ModeView } from '../../../gateway/src/serve/api/api.ts'
import { Gate, type Mode } from '../parts/signs.tsx'
import { isLessStrict, MODES, useModeChange } from './mode-change.ts'
import { ModeReason } from './mode-reason.tsx'
import { ModeSince } from './mode-since.tsx'
import { PanicButton } from './panic-button.tsx'
import { useMay } from './roles.ts'

interface ModePopupProps {
  readonly view: ModeView
  readonly anchor: RefObject<HTMLElement | null>
  readonly onClose: () => void
}

export const ModePopup = ({ view, anchor, onClose }: ModePopupProps) => (
  <Popover.Root open onOpenChange={(open) => !open && onClose()}>
    <Popover.Portal>
      <Popover.Positioner anchor={anchor} sideOffset={6} align="end" className="pop-place">
        <Popover.Popup className="pop" aria-label="Mode" finalFocus={anchor}>
          <p className="pop-note">
            <ModeSince view={view} />
          </p>
          <ModeList view={view} />
          {view.mode !== 'LOCKDOWN' && <PanicButton />}
        </Popover.Popup>
      </Popover.Positioner>
    </Popover.Portal>
  </Popover.Root>
)

function ModeList({ view }: { readonly view: ModeView }) {
  const [chosen, choose] = useState<Mode>()
  const change = useModeChange()
  const mayChange = useMay('operator')
  const pick = (mode: Mode): void => {
    if (isLessStrict(mode, view.mode)) choose(mode)
    else change.mutate({ mode })
  }
  return (
    <>
      <ol className="mode-list">
        {MODES.map(([mode, text]) => (
          <li key={mode} aria-current={mode === view.mode ? 'true' : undefined}>
            <Gate mode={mode} />
            <b>{mode}</b>
            <span>{text}</span>
            {mayChange && mode !== 'LOCKDOWN' && view.next.includes(mode) && mode !== view.mode && (
              <button className="btn btn-s" type="button" onClick={() => pick(mode)} aria-label={`Set ${mode}`}>
                {isLessStrict(mode, view.mode) ? 'Set…' : 'Set'}
              </button>
            )}
          </li>
        ))}
      </ol>
      {chosen && <ModeReason mode={chosen} onDone={() => choose(undefined)} />}
      {change.error && <p className="error">{change.error.message}</p>}
    </>
  )
}
