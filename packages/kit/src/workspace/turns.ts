const last = new Map<string, Promise<void>>()

/** Work under one key is done one after the other, in the order in which it came, within this process. */
export async function takeTurns<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
  const mine = (last.get(key) ?? Promise.resolve()).then(work)
  const settled = mine.then(
    () => undefined,
    () => undefined,
  )
  last.set(key, settled)
  try {
    return await mine
  } finally {
    if (last.get(key) === settled) last.delete(key)
  }
}
