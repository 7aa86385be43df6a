import type { LoggedEvent } from '@sallyport/core'
import { causeCode } from '../disk/disk.ts'
import { createEventMatcher, maxResults } from './event-filter.ts'
import { readLines } from './line-reader.ts'
import { parseRecord } from './record-line.ts'
import type { EventFilter } from './records.ts'
import { listSegments, type Segment } from './segment.ts'

/** Answers a filter by reading the log itself: slow, but right whatever became of the index. */
export function scanLog(folder: string, filter: EventFilter): readonly LoggedEvent[] {
  const limit = maxResults(filter)
  const matches = createEventMatcher(filter)
  let found: LoggedEvent[] = []
  for (const segment of listSegments(folder).toReversed()) {
    if (found.length >= limit) break
    found = [...scanSegment(segment, matches), ...found]
  }
  return limit < found.length ? found.slice(found.length - limit) : found
}

function scanSegment(segment: Segment, matches: (event: LoggedEvent) => boolean): readonly LoggedEvent[] {
  const found: LoggedEvent[] = []
  try {
    for (const line of readLines(segment.path, 0)) {
      const record = parseRecord(line.text)
      if (record !== undefined && matches(record)) found.push(record)
    }
  } catch (cause) {
    // Retention may take a segment away between the listing and the reading.
    if (causeCode(cause) !== 'ENOENT') throw cause
  }
  return found
}
