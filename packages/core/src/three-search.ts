import type { TrigramClass, TrigramTable } from './anchor-table.ts'
import { openWasm, type WasmMemory } from './open-wasm.ts'

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

/** trigram-scan.wat, assembled; its head says how. */
const TRIGRAM_SCAN = [
  '0061736d0100000001070160027f7f017f030201000503010004071102066d656d6f72790200046e65787400000aac0301a9',
  '0303167b037f017b4100fd000400210b4110fd000400210e4120fd000400210c4130fd000400210f41c000fd000400210d41',
  'd000fd000400211041e000fd000400211141f000fd0004002114418001fd0004002112419001fd000400211541a001fd0004',
  '00211341b001fd0004002116410ffd0f211b200141026b211a03402000201a4e044020010f0b2000fd00040021022000fd00',
  '040121032000fd00040221042002201bfd4e21052003201bfd4e21062004201bfd4e210720024104fd6d210820034104fd6d',
  '210920044104fd6d210a200b2005fd0e200e2008fd0efd4e200c2006fd0e200f2009fd0efd4efd4e200d2007fd0e2010200a',
  'fd0efd4efd4e20112005fd0e20142008fd0efd4e20122006fd0e20152009fd0efd4efd4e20132007fd0e2016200afd0efd4e',
  'fd4efd5021172017fd5304402017fd0c00000000000000000000000000000000fd24fd642118034020002018686a21192019',
  '201a4e044020010f0b41ffff0320192d0000410a7420192d00014105747320192d000273712d00808004044020190f0b2018',
  '201841016b71211820180d000b0b200041106a21000c000b000b',
].join('')
