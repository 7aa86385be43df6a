import { openWasm, type WasmMemory } from '../text/open-wasm.ts'
import { TRIGRAM_SCAN } from './trigram-scan-code.ts'
import type { TrigramClass, TrigramTable } from './trigram-table.ts'

interface TrigramExports {
  readonly memory: WasmMemory
  readonly next: (at: number, end: number) => number
}

// As in trigram-scan.wat.
const HASH_OFFSET = 65_536
const TEXT_OFFSET = 131_072
const GROUPS = 16
const TABLE_BYTES = 16
const TABLES_OF_EIGHT_GROUPS = 6 * TABLE_BYTES

const WINDOW = 65_536
/** Of a three, what may stand behind the end of a window. */
const OVERLAP = 2

/** Whether `isMeant` takes one of the places where a three of the table may stand. It must not search itself: there is one memory. */
export type TrigramSearch = (bytes: Uint8Array, isMeant: (bytes: Uint8Array, at: number) => boolean) => boolean

/** Undefined where this cannot be; then pairs will do, one after the other. */
export function createTrigramSearch(table: TrigramTable): TrigramSearch | undefined {
  const scan = openWasm<TrigramExports>(TRIGRAM_SCAN)
  if (scan === undefined) return undefined
  const { memory, next } = scan
  const room = new Uint8Array(memory.buffer)
  fillGroups(room, table.trigramClasses)
  room.set(table.trigrams, HASH_OFFSET)
  return (bytes, isMeant) => {
    for (let from = 0; from + OVERLAP < bytes.length; from += WINDOW - OVERLAP) {
      const length = Math.min(WINDOW, bytes.length - from)
      room.set(length === bytes.length ? bytes : bytes.subarray(from, from + length), TEXT_OFFSET)
      const end = TEXT_OFFSET + length
      for (let at = next(TEXT_OFFSET, end); at < end; at = next(at + 1, end))
        if (isMeant(bytes, from + at - TEXT_OFFSET)) return true
    }
    return false
  }
}

/** Those alike in the middle share a group: the fewer different halves a group knows, the fewer texts seem to hold one of it. */
function fillGroups(room: Uint8Array, threes: readonly TrigramClass[]): void {
  const alike = [...threes].sort((a, b) => a[1][0] - b[1][0] || a[0][0] - b[0][0])
  for (const [order, three] of alike.entries()) {
    const group = Math.floor((order * GROUPS) / alike.length)
    const tables = (group >> 3) * TABLES_OF_EIGHT_GROUPS
    for (const [place, bytes] of three.entries())
      for (const byte of bytes) setBit(room, { table: tables + 2 * place * TABLE_BYTES, byte, bit: 1 << (group & 7) })
  }
}

function setBit(room: Uint8Array, { table, byte, bit }: { table: number; byte: number; bit: number }): void {
  const low = table + (byte & 0x0f)
  const high = table + TABLE_BYTES + (byte >> 4)
  room[low] = (room[low] as number) | bit
  room[high] = (room[high] as number) | bit
}
