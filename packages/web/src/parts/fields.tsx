import { type ComponentProps, useId } from 'react'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly help?: string | undefined
}

type InputProps = FieldProps & Omit<ComponentProps<'input'>, keyof FieldProps | 'id' | 'className'>

/** A line of text in a form. */
export function TextField({ label, value, onChange, help, ...input }: InputProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        {...describedBy(id, help)}
        id={id}
        className="input"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <Help id={id} text={help} />
    </div>
  )
}

type AreaProps = FieldProps & Omit<ComponentProps<'textarea'>, keyof FieldProps | 'id' | 'className'>

/** Several lines of text that are not prose. */
export function TextArea({ label, value, onChange, help, ...area }: AreaProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        {...area}
        {...describedBy(id, help)}
        id={id}
        className="input"
        spellCheck={false}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <Help id={id} text={help} />
    </div>
  )
}

type SelectProps = FieldProps & { readonly options: readonly { readonly value: string; readonly text: string }[] }

export function SelectField({ label, value, onChange, help, options }: SelectProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        {...describedBy(id, help)}
        id={id}
        className="input"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      <Help id={id} text={help} />
    </div>
  )
}

const describedBy = (id: string, help: string | undefined) =>
  help === undefined ? {} : { 'aria-describedby': `${id}-help` }

const Help = ({ id, text }: { readonly id: string; readonly text: string | undefined }) =>
  text !== undefined && (
    <p className="help" id={`${id}-help`}>
      {text}
    </p>
  )
