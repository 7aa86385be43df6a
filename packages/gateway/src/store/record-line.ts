import { isJsonObject, type LoggedEvent, tryParseJson } from '@sallyport/core'
import type { EventText, Recordable } from './records.ts'

export function toEventText(event: Recordable): EventText {
  return 'members' in event ? event : { members: JSON.stringify(event).slice(1, -1) }
}

/** One record, one line. The members of the chain come after the time and at the end of the object. */
export function formatRecord({ members }: EventText, seq: number, time: string): string {
  return `{"seq":${seq},"time":"${time}",${members}}\n`
}

/** The current time; formatted once for all writes in the same millisecond. */
export function createTimePrinter(now: () => Date): () => string {
  let at = Number.NaN
  let text = ''
  return () => {
    const date = now()
    if (date.getTime() !== at) {
      at = date.getTime()
      text = date.toISOString()
    }
    return text
  }
}

/** The record in a line; `undefined` if the line is not a record. */
export function parseRecord(line: string): LoggedEvent | undefined {
  const value = tryParseJson(line)
  if (!isJsonObject(value)) return undefined
  if (!Number.isSafeInteger(value.seq) || Number(value.seq) < 1) return undefined
  if (typeof value.time !== 'string' || typeof value.type !== 'string') return undefined
  return value as unknown as LoggedEvent
}
