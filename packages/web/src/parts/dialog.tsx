import { lazy, type ReactNode, Suspense } from 'react'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  readonly footer?: ReactNode
  /** `palette` has no heading of its own. */
  readonly kind?: 'plain' | 'wide' | 'palette'
}

const DialogPopup = lazy(async () => ({ default: (await import('./dialog-popup.tsx')).DialogPopup }))

/** A dialog with a heading, for questions that an inline form cannot ask. Its code comes with the first that opens. */
export const Dialog = (props: DialogProps) =>
  props.isOpen && (
    <Suspense>
      <DialogPopup {...props} />
    </Suspense>
  )
