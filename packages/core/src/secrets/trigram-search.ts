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
/** How far a trigram may reach beyond the end of a window. */
const OVERLAP = 2

/**
 * Whether `accept` returns true for one of the positions where a trigram of the table may be. `accept` must not start a
 * search itself, because all searches share one memory.
 */
export type TrigramSearch = (bytes: Uint8Array, accept: (bytes: Uint8Array, at: number) => boolean) => boolean

/** `undefined` if WebAssembly is not available. The caller then uses its slower search. */
export function createTrigramSearch(table: TrigramTable): TrigramSearch | undefined {
  const scan = openWasm<TrigramExports>(TRIGRAM_SCAN)
  if (scan === undefined) return undefined
  const { memory, next } = scan
  const buffer = new Uint8Array(memory.buffer)
  fillGroups(buffer, table.trigramClasses)
  buffer.set(table.trigrams, HASH_OFFSET)
  return (bytes, accept) => {
    for (let from = 0; from + OVERLAP < bytes.length; from += WINDOW - OVERLAP) {
      const length = Math.min(WINDOW, bytes.length - from)
      buffer.set(length === bytes.length ? bytes : bytes.subarray(from, from + length), TEXT_OFFSET)
      const end = TEXT_OFFSET + length
      for (let at = next(TEXT_OFFSET, end); at < end; at = next(at + 1, end))
        if (accept(bytes, from + at - TEXT_OFFSET)) return true
    }
    return false
  }
}

/** Trigrams with similar bytes share a group: the fewer different half-bytes a group has, the fewer false matches. */
function fillGroups(buffer: Uint8Array, trigrams: readonly TrigramClass[]): void {
  const sorted = [...trigrams].sort((a, b) => a[1][0] - b[1][0] || a[0][0] - b[0][0])
  for (const [order, trigram] of sorted.entries()) {
    const group = Math.floor((order * GROUPS) / sorted.length)
    const tables = (group >> 3) * TABLES_OF_EIGHT_GROUPS
    for (const [position, bytes] of trigram.entries())
      for (const byte of bytes)
        setBit(buffer, { table: tables + 2 * position * TABLE_BYTES, byte, bit: 1 << (group & 7) })
  }
}

function setBit(buffer: Uint8Array, { table, byte, bit }: { table: number; byte: number; bit: number }): void {
  const low = table + (byte & 0x0f)
  const high = table + TABLE_BYTES + (byte >> 4)
  buffer[low] = (buffer[low] as number) | bit
  buffer[high] = (buffer[high] as number) | bit
}
