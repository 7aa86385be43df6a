import { openWasm, type WasmMemory } from './open-wasm.ts'
import { STRING_SCAN } from './string-scan-code.ts'

interface ScannerExports {
  readonly memory: WasmMemory
  readonly pass: (at: number, end: number) => number
}

/** Where the text begins in the memory of string-scan.wat. */
const TEXT_OFFSET = 1_024
const FIRST_WINDOW = 1_024
const MAX_WINDOW = 65_536
const MAX_ESCAPE_LENGTH = 6

type SkipString = (chunk: Uint8Array, from: number) => number

let cachedScanner: SkipString | undefined | 'unopened' = 'unopened'

/** Does the same as `skipShortString`, but faster for long strings; `undefined` if WebAssembly is not available. */
export function openWasmScanner(): SkipString | undefined {
  if (cachedScanner === 'unopened') cachedScanner = createScanner()
  return cachedScanner
}

function createScanner(): SkipString | undefined {
  const scan = openWasm<ScannerExports>(STRING_SCAN)
  if (scan === undefined) return undefined
  const { memory, pass } = scan
  const buffer = new Uint8Array(memory.buffer, TEXT_OFFSET, MAX_WINDOW)
  return (chunk, from) => {
    // Most strings are short, and copying what follows them would be useless.
    let size = FIRST_WINDOW
    for (let at = from; ; size = Math.min(4 * size, MAX_WINDOW)) {
      const end = Math.min(chunk.length, at + size)
      buffer.set(chunk.subarray(at, end))
      const passed = at + pass(TEXT_OFFSET, TEXT_OFFSET + end - at) - TEXT_OFFSET
      // The window may end inside an escape.
      if (end === chunk.length || passed <= end - MAX_ESCAPE_LENGTH) return passed
      at = passed
    }
  }
}
