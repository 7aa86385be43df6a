import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** The processes of this machine whose environment or command line contains a text that is unique to the test. */
export function processesWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => hasText(pid, text))
}

function hasText(pid: number, text: string): boolean {
  try {
    const [stat, environ, cmdline] = ['stat', 'environ', 'cmdline'].map((file) =>
      readFileSync(`/proc/${pid}/${file}`, 'latin1'),
    )
    // A zombie has ended already; it only waits until its parent reaps it.
    return !/\) Z /.test(stat ?? '') && ((environ ?? '').includes(text) || (cmdline ?? '').includes(text))
  } catch {
    return false
  }
}

/** Waits until a condition holds; fails with what was last seen. */
export async function eventually<Value>(
  read: () => Value | Promise<Value>,
  isRight: (value: Value) => boolean,
  timeoutMs = 50_000,
): Promise<Value> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const value = await read()
    if (isRight(value)) return value
    if (Date.now() > until)
      throw new Error(`the condition was not met in time; last seen: ${JSON.stringify(value)?.slice(0, 2_000)}`)
    await delay(20)
  }
}
