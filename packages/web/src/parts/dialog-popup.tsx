import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { DialogProps } from './dialog.tsx'

/** Loaded with the first dialog that opens: see dialog.tsx. */
export const DialogPopup = ({ title, onClose, children, footer, kind = 'plain' }: DialogProps) => (
  <BaseDialog.Root open onOpenChange={(open) => !open && onClose()}>
    <BaseDialog.Portal>
      <BaseDialog.Backdrop className="backdrop" />
      <BaseDialog.Viewport className="overlay">
        {kind === 'palette' ? (
          <BaseDialog.Popup className="dialog palette" aria-label={title}>
            {children}
          </BaseDialog.Popup>
        ) : (
          <BaseDialog.Popup className={`dialog dialog-${kind}`}>
            <header>
              <BaseDialog.Title>{title}</BaseDialog.Title>
              <BaseDialog.Close className="btn btn-ghost btn-icon" aria-label="Close">
                <X className="i" aria-hidden="true" />
              </BaseDialog.Close>
            </header>
            <div className="pad">{children}</div>
            {footer !== undefined && <footer>{footer}</footer>}
          </BaseDialog.Popup>
        )}
      </BaseDialog.Viewport>
    </BaseDialog.Portal>
  </BaseDialog.Root>
)
