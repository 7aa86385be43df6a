import { openWasm, type WasmMemory } from './open-wasm.ts'
import { TEXT_SCAN } from './text-scan-code.ts'

interface TextScan {
  readonly memory: WasmMemory
  readonly pass: (at: number, end: number) => number
}

/** Where the text begins in the memory of text-scan.wat. */
const PLACE = 1_024
const FIRST_WINDOW = 1_024
const LONGEST_WINDOW = 65_536
const LONGEST_ESCAPE = 6

type Pass = (chunk: Uint8Array, from: number) => number

let opened: Pass | undefined | 'unopened' = 'unopened'

/** Does for long texts what `passShortText` does, several times as fast; undefined where this cannot be. */
export function longTextPass(): Pass | undefined {
  if (opened === 'unopened') opened = createPass()
  return opened
}

function createPass(): Pass | undefined {
  const scan = openWasm<TextScan>(TEXT_SCAN)
  if (scan === undefined) return undefined
  const { memory, pass } = scan
  const room = new Uint8Array(memory.buffer, PLACE, LONGEST_WINDOW)
  return (chunk, from) => {
    // Most texts end soon, and what is behind their end would be copied in vain.
    let size = FIRST_WINDOW
    for (let at = from; ; size = Math.min(4 * size, LONGEST_WINDOW)) {
      const end = Math.min(chunk.length, at + size)
      room.set(chunk.subarray(at, end))
      const passed = at + pass(PLACE, PLACE + end - at) - PLACE
      // The window may have cut an escape.
      if (end === chunk.length || passed <= end - LONGEST_ESCAPE) return passed
      at = passed
    }
  }
}
