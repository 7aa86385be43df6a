import { createToolMatcher, equalFields } from './event-filter.ts'
import type { EventFilter } from './records.ts'

export interface IndexQuery {
  /** Conditions on the rows of `events`, joined by AND. They may let too much through, never too little. */
  readonly where: string
  readonly values: readonly (string | number)[]
  /** What SQL cannot judge: a glob over any way to write the tool's name. */
  readonly accepts: (toolName: string | null, server: string | null) => boolean
}

/** How a text stands in the index. libsql reads a text only up to a NUL, and cannot hold half a surrogate pair. */
export function toIndexText(value: unknown): string | null {
  return typeof value === 'string' ? value.replaceAll(UNSTORABLE, '\ufffd') : null
}

const UNSTORABLE = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

export function buildIndexQuery(filter: EventFilter): IndexQuery {
  const conditions = ['TRUE']
  const values: (string | number)[] = []
  const add = (condition: string, ...bound: readonly (string | number)[]) => {
    conditions.push(condition)
    values.push(...bound)
  }
  for (const [field, value] of equalFields(filter)) add(`${field} = ?`, String(toIndexText(value)))
  if (filter.since !== undefined) add('time >= ?', filter.since.getTime())
  if (filter.until !== undefined) add('time <= ?', filter.until.getTime())
  if (filter.types !== undefined) add(`type IN (${filter.types.map(() => '?').join()})`, ...filter.types)
  if (filter.tool !== undefined) add('tool_name IS NOT NULL')
  const accepts = filter.tool === undefined ? () => true : createToolMatcher(String(toIndexText(filter.tool)))
  return { where: conditions.join(' AND '), values, accepts }
}
