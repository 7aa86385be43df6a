import { TriangleAlert } from 'lucide-react'
import { ForeignText } from '../../parts/foreign-text.tsx'
import type { ShownField } from './entry-edit.ts'

interface EditFieldProps {
  readonly field: ShownField
  readonly text: string
  readonly problem: string | undefined
  readonly onChange: (text: string) => void
}

const MAX_ROWS = 8

/** One field of an entry, with what is wrong with it. */
export function EditField({ field, text, problem, onChange }: EditFieldProps) {
  const { key, label, kind, width, choices = [], placeholder, help } = field
  const id = `edit-${key}`
  const shared = {
    id,
    className: 'input',
    value: text,
    'aria-invalid': problem !== undefined,
    'aria-describedby': `${id}-help`,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(target.value),
  }
  return (
    <div className={`field edit-${width}`}>
      <label htmlFor={id}>{label}</label>
      {kind === 'choice' && (
        <select {...shared}>
          <option value="">Not set</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {kind === 'text' && <input {...shared} spellCheck={false} placeholder={placeholder} />}
      {(kind === 'lines' || kind === 'pairs') && (
        <textarea {...shared} rows={Math.min(MAX_ROWS, Math.max(2, text.split('\n').length))} spellCheck={false} />
      )}
      <div id={`${id}-help`}>
        {problem !== undefined && (
          <p className="error" role="alert">
            <TriangleAlert className="i i-s" aria-hidden="true" />
            <ForeignText text={problem} limit={2_000} />
          </p>
        )}
        {help !== undefined && <p className="help">{help}</p>}
      </div>
    </div>
  )
}
