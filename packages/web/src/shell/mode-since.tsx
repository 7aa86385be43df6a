import type { ModeView } from '../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../parts/foreign-text.tsx'
import { formatWhen } from '../parts/format.ts'

export const ModeSince = ({ view }: { readonly view: ModeView }) => (
  <>
    In force since {formatWhen(view.since)}, {view.by === 'automatic' ? 'automatically' : `set by ${view.by}`}
    {view.why !== '' && (
      <>
        : “<ForeignText text={view.why} />”
      </>
    )}
  </>
)
