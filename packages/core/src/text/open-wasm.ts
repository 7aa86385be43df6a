/** A memory that does not grow: its buffer is the same all the time. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
}

// What we need of it: the library of ES2023 does not describe it.
declare const WebAssembly:
  | undefined
  | {
      readonly Module: new (code: Uint8Array) => object
      readonly Instance: new (module: object) => { readonly exports: unknown }
    }

/**
 * Starts assembled code that imports nothing. Undefined where this cannot be: Node may run without a compiler, the
 * processor may lack what the code is made of. Whoever calls has a slower way then.
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
