/**
 * Gives this process the collector of V8 as `node --expose-gc` does, by which the gateway frees what large messages
 * leave behind (upstream/dead-buffers.ts). It takes a flag of V8, and those are for the owner of a process to change: a
 * program that embeds the gateway stays as it was started. Nothing is changed before the collector is first called.
 */
export function exposeGc(): void {
  let gc = globalThis.gc
  if (gc) return
  globalThis.gc = ((options: NodeJS.GCOptions) => {
    gc ??= openGc()
    gc(options)
  }) as NodeJS.GCFunction
}

/** V8 gives its collector only to contexts that are made while the flag stands. */
function openGc(): NodeJS.GCFunction {
  // Loaded here: few processes ever come to it.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  const { runInNewContext } = process.getBuiltinModule('node:vm')
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  // Without it all is as it would be: memory is freed later.
  return (typeof gc === 'function' ? gc : () => {}) as NodeJS.GCFunction
}
