import { readFileSync } from 'node:fs'
import { SallyportError } from '@sallyport/core'

/** So long may a gateway that is well take for the first byte of an answer that needs no work. */
export const RESPONSE_TIMEOUT_MS = 10_000

/** Somebody holds the socket and says nothing: who it is, and what is the matter as far as the system knows it. */
export async function createTimeoutError(state: string, patience = RESPONSE_TIMEOUT_MS): Promise<SallyportError> {
  // Only now: hardly a command ever needs it.
  const { readHolder } = await import('../../store/store.ts')
  const holder = readHolder(state)
  const who = holder === undefined ? 'The gateway' : `The gateway with pid ${holder.pid}`
  const stopped = holder !== undefined && isStopped(holder.pid)
  const what = stopped ? 'is stopped and does not answer' : `has not answered for ${patience / 1_000} seconds`
  return new SallyportError('GATEWAY_UNREACHABLE', `${who} on the state ${state} ${what}.`, {
    hint: stopped
      ? `Let it go on with \`kill -CONT ${holder.pid}\`, or end it.`
      : 'Wait if the machine is busy; else end it.',
  })
}

/** By Ctrl-Z, SIGSTOP or a debugger. Only Linux tells. */
export function isStopped(pid: number): boolean {
  try {
    // The name before it stands in parentheses and may hold anything, parentheses too.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return /^[Tt]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}
