import { closeSync, ftruncateSync, openSync } from 'node:fs'
import { makePrivateFolder, stateUnusable, syncFolder } from '../disk/disk.ts'
import { CHAIN_START, type ChainEnd } from './chain.ts'
import { type EventLogOptions, SegmentedLog } from './event-log.ts'
import { readAt } from './line-reader.ts'
import { type LogHead, readHead } from './log-head.ts'
import { findTail, type LogTail, type SealedUpTo } from './log-tail.ts'
import { listSegments, type Segment, segmentAt } from './segment.ts'
import { openSegment } from './segment-file.ts'

/** Opens the log for its one writer, and cuts off what a crash tore. */
export function openEventLog(options: EventLogOptions): SegmentedLog {
  const { folder } = options
  makePrivateFolder(folder)
  const segments = listSegments(folder)
  const segment = segments.at(-1) ?? segmentAt(folder, 1)
  let fd: number | undefined
  try {
    fd = openSegment(segment)
    const tail = findTail(fd, segment.path)
    if (tail.tornBytes > 0) ftruncateSync(fd, tail.end)
    if (segments.length === 0) syncFolder(folder)
    const chain = resumeAfterHead(findChainEnd({ fd, tail, earlier: segments.slice(0, -1) }), readHead(folder))
    const nextSeq = Math.max(segment.firstSeq, (tail.lastSeq ?? 0) + 1, chain.seq + 1)
    return new SegmentedLog(options, { segment, fd, size: tail.end, nextSeq, tornBytes: tail.tornBytes, chain })
  } catch (cause) {
    if (fd !== undefined) closeSync(fd)
    throw stateUnusable(segment.path, cause)
  }
}

/**
 * A log that ends before the head that was kept of it has lost its end, or it was changed. The numbers and the chain go
 * on behind that head: what is missing stays missing for every reader, and no number is used twice.
 */
function resumeAfterHead(end: ChainEnd, kept: LogHead | undefined): ChainEnd {
  if (kept === undefined || kept.seq < end.seq || kept.chain === end.chain) return end
  return { ...kept, open: '', isStated: true }
}

interface Tails {
  readonly fd: number
  readonly tail: LogTail
  readonly earlier: readonly Segment[]
}

function findChainEnd({ fd, tail, earlier }: Tails): ChainEnd {
  const { sealed, end, lastSeq } = tail
  if (sealed !== undefined) {
    const open = readAt(fd, sealed.end, end - sealed.end).toString()
    return { seq: sealed.seq, chain: sealed.chain, open, isStated: false }
  }
  const { seq, chain } = (lastSeq === undefined ? findLastSealed(earlier) : undefined) ?? { seq: 0, chain: CHAIN_START }
  return { seq, chain, open: '', isStated: true }
}

/** Of a segment that was made and never written to. */
function findLastSealed(segments: readonly Segment[]): SealedUpTo | undefined {
  for (const { path } of segments.toReversed()) {
    const fd = openSync(path, 'r')
    try {
      const { sealed, lastSeq } = findTail(fd, path)
      if (lastSeq !== undefined) return sealed
    } finally {
      closeSync(fd)
    }
  }
  return undefined
}
