import { useState } from 'react'

interface DenyFormProps {
  readonly agent: string
  readonly onConfirm: (why: string) => void
  readonly onCancel: () => void
}

export function DenyForm({ agent, onConfirm, onCancel }: DenyFormProps) {
  const [why, setWhy] = useState('')
  return (
    <form
      className="stack-s"
      onSubmit={(event) => {
        event.preventDefault()
        onConfirm(why)
      }}
    >
      <label className="field">
        <span className="label-text">Reason, which the model of {agent} will read (optional)</span>
        <input
          className="input"
          value={why}
          onChange={({ target }) => setWhy(target.value)}
          onKeyDown={({ key }) => key === 'Escape' && onCancel()}
          // biome-ignore lint/a11y/noAutofocus: the person has just asked for this form.
          autoFocus
          maxLength={500}
        />
      </label>
      <div className="actions">
        <button className="btn btn-danger" type="submit">
          Deny
        </button>
        <button className="btn btn-ghost" type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}
