import { ConnectorError } from '../connector-error.ts'
import { TooManyBytes, UnreadableRow } from './postgres-query.ts'

/** The statement is at fault: its syntax, its names, its values, what it may do. By the first two of SQLSTATE. */
const STATEMENT_ERROR_CLASSES = new Set([
  '0A',
  '21',
  '22',
  '23',
  '25',
  '26',
  '2B',
  '34',
  '38',
  '39',
  '3F',
  '40',
  '42',
  '44',
  'P0',
])

/** What is told of a failure of PostgreSQL: its own words about a statement; of a connection no more than a code. */
export function postgresError(name: string, error: unknown): ConnectorError {
  if (error instanceof ConnectorError) return error
  if (error instanceof TooManyBytes)
    return new ConnectorError('A row of the result is too large. Ask for less of it.', { retryable: true })
  if (error instanceof UnreadableRow)
    return new ConnectorError('A row of the result cannot be read. Ask for its columns as text, or for less of them.', {
      retryable: true,
    })
  const { code, message, hint, position } = error as PostgresErrorFields
  if (typeof code === 'string' && STATEMENT_ERROR_CLASSES.has(code.slice(0, 2))) {
    const place = position === undefined ? '' : ` at character ${position}`
    const advice = hint === undefined ? '' : ` ${hint}`
    return new ConnectorError(`${message}${place} (${code}).${advice}`, { retryable: true })
  }
  const why = typeof code === 'string' ? ` (${code})` : ''
  // No cause: pg's errors carry the host, and may carry what was sent.
  return new ConnectorError(`The database ${JSON.stringify(name)} cannot be used${why}.`, { retryable: false })
}

interface PostgresErrorFields {
  readonly code?: unknown
  readonly message?: string
  readonly hint?: string
  readonly position?: string
}
