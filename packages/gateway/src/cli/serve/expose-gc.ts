/**
 * Exposes the garbage collector of V8, like `node --expose-gc`. The gateway uses it to free the memory of large
 * messages (upstream/answers/buffer-collection.ts). This changes a flag of V8, which only the owner of a process should
 * do, so a program that embeds the gateway is not affected. Nothing is changed before the collector is first called.
 */
export function exposeGc(): void {
  let gc = globalThis.gc
  if (gc) return
  globalThis.gc = ((options: NodeJS.GCOptions) => {
    gc ??= openGc()
    gc(options)
  }) as NodeJS.GCFunction
}

/** V8 exposes its collector only in contexts that are created while the flag is set. */
function openGc(): NodeJS.GCFunction {
  // Loaded here: few processes need it.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  const { runInNewContext } = process.getBuiltinModule('node:vm')
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  // Without the collector everything works, but memory is freed later.
  return (typeof gc === 'function' ? gc : () => {}) as NodeJS.GCFunction
}
