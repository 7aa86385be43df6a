import { Gate } from '../parts/signs.tsx'
import { usePanic } from './mode-change.ts'
import { useMay } from './roles.ts'

export function PanicButton({ isQuiet = false }: { readonly isQuiet?: boolean }) {
  const panic = usePanic()
  // Who may answer calls may also stop them all.
  if (!useMay('approver')) return null
  return (
    <>
      <button
        className={`btn panic ${isQuiet ? 'panic-quiet' : ''}`}
        type="button"
        onClick={() => panic.mutate()}
        disabled={panic.isPending}
      >
        <Gate mode="LOCKDOWN" /> Panic: LOCKDOWN now
      </button>
      {panic.error && <p className="error">{panic.error.message}</p>}
    </>
  )
}
