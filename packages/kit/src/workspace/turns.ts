const lastByKey = new Map<string, Promise<void>>()

/** Work under one key is done one after the other, in the order in which it came, within this process. */
export async function runInOrder<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
  const mine = (lastByKey.get(key) ?? Promise.resolve()).then(work)
  const settled = mine.then(
    () => undefined,
    () => undefined,
  )
  lastByKey.set(key, settled)
  try {
    return await mine
  } finally {
    if (lastByKey.get(key) === settled) lastByKey.delete(key)
  }
}
