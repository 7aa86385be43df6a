import { ForeignText } from '../../parts/foreign-text.tsx'

/** Longer values are folded, and have to be opened before the call can be approved. */
const FOLD_LENGTH = 600

interface Argument {
  readonly name: string
  readonly text: string
}

/** One row for each argument; nested values as JSON. What is not an object is shown whole. */
function listArguments(value: unknown): readonly Argument[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ name: '', text: toText(value) }]
  return Object.entries(value).map(([name, each]) => ({ name, text: toText(each) }))
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))

const isFolded = ({ name, text }: Argument): boolean => text.length > FOLD_LENGTH || name.length > FOLD_LENGTH

export const countFolded = (value: unknown): number => listArguments(value).filter(isFolded).length

interface ArgumentsProps {
  readonly value: unknown
  readonly onOpen?: (name: string) => void
}

/** All that would be sent, as text: hidden characters are visible, and nothing is left out silently. */
export function Arguments({ value, onOpen }: ArgumentsProps) {
  const rows = listArguments(value)
  if (rows.length === 0) return <p className="muted">It has no arguments.</p>
  return (
    <dl className="args">
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: names may be the same after cleaning, positions are not.
        <div key={index}>
          <dt>
            <ForeignText text={row.name} limit={FOLD_LENGTH} />
          </dt>
          <dd>
            {row.text === '' ? (
              <span className="faint">(empty)</span>
            ) : (
              <ForeignText text={row.text} limit={FOLD_LENGTH} onOpen={() => onOpen?.(row.name)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
