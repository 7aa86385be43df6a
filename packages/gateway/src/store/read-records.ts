import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedEvent } from '@sallyport/core'
import { causeCode, stateUnusable } from '../disk/disk.ts'
import { createEventMatcher } from './event-filter.ts'
import { readLines } from './line-reader.ts'
import { parseRecord } from './record-line.ts'
import type { EventFilter } from './records.ts'
import { listSegments, type Segment } from './segment.ts'

export interface FoundRecord {
  readonly event: LoggedEvent
  /** The line in the log. */
  readonly line: string
}

const PAUSE_AFTER = 2_000

/** Yields every matching record, oldest first, one by one: the log may be larger than memory. */
export async function* readRecords(
  folder: string,
  filter: EventFilter,
  signal?: AbortSignal,
): AsyncGenerator<FoundRecord> {
  const matches = createEventMatcher(filter)
  // The gateway writes the members of a record without spaces. To parse each record would take most of the time.
  const types = filter.types?.map((type) => `"type":"${type}"`)
  let read = 0
  for (const segment of listSegments(folder)) {
    for (const line of readSegmentLines(segment)) {
      const event = types?.every((type) => !line.includes(type)) === true ? undefined : parseRecord(line)
      if (event !== undefined && matches(event)) yield { event, line }
      if (++read % PAUSE_AFTER > 0) continue
      await nextTurn()
      signal?.throwIfAborted()
    }
  }
}

function* readSegmentLines({ path }: Segment): Generator<string, void, undefined> {
  try {
    for (const { text } of readLines(path, 0)) yield text
  } catch (cause) {
    // Retention may remove a segment between the listing and the reading.
    if (causeCode(cause) !== 'ENOENT') throw stateUnusable(path, cause)
  }
}
