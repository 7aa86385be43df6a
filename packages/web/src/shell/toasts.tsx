import { Check } from 'lucide-react'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react'

const SHOWN_MS = 4_000

const ToastContext = createContext<(text: string) => void>(() => {})

/** Short confirmations. A problem is shown where it happened, and nothing has to be decided in a toast. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toast, setToast] = useState<{ readonly text: string }>()
  useEffect(() => {
    if (toast === undefined) return
    const timer = setTimeout(() => setToast(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [toast])
  const show = useCallback((text: string) => setToast({ text }), [])
  return (
    <ToastContext value={show}>
      {children}
      <div role="status">
        {toast && (
          <p className="toast">
            <Check className="i" aria-hidden="true" />
            {toast.text}
          </p>
        )}
      </div>
    </ToastContext>
  )
}

/** Returns the function that shows a confirmation. */
export const useToast = (): ((text: string) => void) => useContext(ToastContext)
