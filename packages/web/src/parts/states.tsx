import type { UseQueryResult } from '@tanstack/react-query'
import { Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { Command } from './command.tsx'
import { EmptyDoor } from './signs.tsx'

interface EmptyProps {
  readonly title: string
  readonly children: ReactNode
  /** The one command that ends this state. */
  readonly command?: string
}

export const Empty = ({ title, children, command }: EmptyProps) => (
  <div className="panel empty">
    <EmptyDoor />
    <h2>{title}</h2>
    <p>{children}</p>
    {command !== undefined && <Command text={command} />}
  </div>
)

const SKELETON_WIDTHS = ['w-70', 'w-50', 'w-70', 'w-30', 'w-50'] as const

/** `what` is named: a reader should know what takes long. */
export const Loading = ({ what }: { readonly what: string }) => (
  <div className="panel loading" role="status">
    <span className="small muted">Loading {what}…</span>
    {SKELETON_WIDTHS.map((width, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a drawing.
      <div key={index} className={`skeleton ${width}`} aria-hidden="true" />
    ))}
  </div>
)

interface FailedProps {
  readonly error: Error
  readonly onRetry?: () => void
}

/** The gateway's own words: what happened, and what to do. */
export function Failed({ error, onRetry }: FailedProps) {
  return (
    <div className="panel failed" role="alert">
      <TriangleAlert className="i t-bad" aria-hidden="true" />
      <div className="grow">
        <p>
          <strong>{error.message}</strong>
        </p>
        {error instanceof ApiError && (
          <p className="small muted">
            {error.hint} <code>{error.code}</code>
          </p>
        )}
      </div>
      {onRetry && (
        <button className="btn" type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

interface LoadedProps<Data> {
  readonly query: UseQueryResult<Data>
  readonly what: string
  readonly children: (data: Data) => ReactNode
}

/** The three states of a query. What was shown stays while it is read again. */
export function Loaded<Data>({ query, what, children }: LoadedProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />
  return <Loading what={what} />
}

interface NoteProps {
  readonly kind?: 'plain' | 'info' | 'ask' | 'bad'
  readonly children: ReactNode
}

export const Note = ({ kind = 'plain', children }: NoteProps) => (
  <div className={`note note-${kind}`}>
    {kind === 'bad' || kind === 'ask' ? (
      <TriangleAlert className="i" aria-hidden="true" />
    ) : (
      <Info className="i" aria-hidden="true" />
    )}
    <div className="min-w-0">{children}</div>
  </div>
)
