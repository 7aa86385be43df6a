import { Search } from 'lucide-react'
import { useRef } from 'react'
import { useShortcuts } from '../shell/shortcuts.ts'

interface SearchFieldProps {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** The field that the key `/` leads to. */
export function SearchField({ label, placeholder, value, onChange }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  useShortcuts([{ keys: '/', title: label, run: () => field.current?.focus() }])
  return (
    <div className="input-icon">
      <Search className="i" aria-hidden="true" />
      <input
        ref={field}
        className="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  )
}
