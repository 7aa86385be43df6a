import { useState } from 'react'
import type { Mode } from '../parts/signs.tsx'
import { useModeChange } from './mode-change.ts'

interface ModeReasonProps {
  readonly mode: Mode
  readonly onDone: () => void
}

/** A less strict mode needs a reason: it is recorded with the name of the person. */
export function ModeReason({ mode, onDone }: ModeReasonProps) {
  const [why, setWhy] = useState('')
  const change = useModeChange()
  return (
    <form
      className="reason"
      onSubmit={(event) => {
        event.preventDefault()
        change.mutate({ mode, why }, { onSuccess: onDone })
      }}
    >
      <label className="field">
        <span className="label-text">Why {mode}? It is recorded with your name.</span>
        <input
          className="input"
          value={why}
          onChange={({ target }) => setWhy(target.value)}
          // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form.
          autoFocus
          required
          maxLength={1000}
        />
      </label>
      <div className="actions">
        <button className="btn btn-primary" type="submit" disabled={why.trim() === '' || change.isPending}>
          {change.isPending ? 'Setting…' : `Set ${mode}`}
        </button>
        <button className="btn btn-ghost" type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
      {change.error && <p className="error">{change.error.message}</p>}
    </form>
  )
}
