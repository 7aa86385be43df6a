/** A memory that does not grow, so its buffer stays the same. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

// Only what we need: the type library of ES2023 does not contain WebAssembly.
declare const WebAssembly:
  | undefined
  | {
      readonly Module: new (code: Uint8Array) => object
      readonly Instance: new (module: object) => { readonly exports: unknown }
    }

/**
 * Instantiates a module without imports. `undefined` if that is not possible: Node may run without a compiler, or the
 * processor may lack the instructions. Callers then use slower code.
 */
export function openWasm<Exports extends { readonly memory: WasmMemory }>(hex: string): Exports | undefined {
  if (typeof WebAssembly === 'undefined') return undefined
  try {
    const code = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
    return new WebAssembly.Instance(new WebAssembly.Module(code)).exports as Exports
  } catch {
    return undefined
  }
}
