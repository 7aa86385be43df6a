import { readFileSync } from 'node:fs'
import { SallyportError } from '@sallyport/core'

/** How long a healthy gateway may take for the first byte of an answer that needs no work. */
export const RESPONSE_TIMEOUT_MS = 10_000

/** A process holds the socket and does not answer: describes which process, and whether it is stopped. */
export async function createTimeoutError(state: string, timeoutMs = RESPONSE_TIMEOUT_MS): Promise<SallyportError> {
  // Loaded only now: almost no command needs it.
  const { readHolder } = await import('../../store/store.ts')
  const holder = readHolder(state)
  const who = holder === undefined ? 'The gateway' : `The gateway with pid ${holder.pid}`
  const stopped = holder !== undefined && isStopped(holder.pid)
  const what = stopped ? 'is stopped and does not answer' : `has not answered for ${timeoutMs / 1_000} seconds`
  return new SallyportError('GATEWAY_UNREACHABLE', `${who} on the state ${state} ${what}.`, {
    hint: stopped
      ? `Continue it with \`kill -CONT ${holder.pid}\`, or end it.`
      : 'Wait if the machine is busy; otherwise end it.',
  })
}

/** Stopped by Ctrl-Z, SIGSTOP or a debugger. Detected on Linux only. */
export function isStopped(pid: number): boolean {
  try {
    // The program name before it is in parentheses and may contain any character, also parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return /^[Tt]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}
