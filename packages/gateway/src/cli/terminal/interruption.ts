import { isatty } from 'node:tty'
import { SallyportError } from '@sallyport/core'

/** How long an interrupted command may take to clean up. */
const GRACE_MS = 5_000
/** One Ctrl-C can arrive twice: from the terminal, and from a parent npm, which forwards it. */
const SAME_PRESS_MS = 500
const EXIT_INTERRUPTED = 130

/** The reader of our output has closed (`| head`): the command ends silently. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed'
}

export interface Interruption {
  readonly signal: AbortSignal
}

export type InterruptedProcess = Pick<NodeJS.Process, 'exit'> & {
  readonly on: (name: NodeJS.Signals, listener: () => void) => unknown
  readonly stdout: Pick<NodeJS.Process['stdout'], 'on'>
}

export interface InterruptionOptions {
  readonly isTerminal?: (fd: number) => boolean
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/** Turns Ctrl-C into a clean shutdown. A second Ctrl-C, or a shutdown that takes too long, ends the process at once. */
export function openInterruption(
  process: InterruptedProcess,
  { isTerminal = isatty, now = () => performance.now() }: InterruptionOptions = {},
): Interruption {
  const controller = new AbortController()
  let first: number | undefined
  const interrupt = (): void => {
    first ??= now()
    if (controller.signal.aborted) {
      if (now() - first >= SAME_PRESS_MS) process.exit(EXIT_INTERRUPTED)
      return
    }
    setTimeout(() => process.exit(EXIT_INTERRUPTED), GRACE_MS).unref()
    controller.abort(new SallyportError('CALL_CANCELLED', 'Interrupted.'))
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, interrupt)
  // `nohup` ignores SIGHUP, but Node resets that before we can see it. `nohup` also detaches every terminal, so without
  // a terminal SIGHUP is ignored. Checked now, because after a hangup the terminal is no longer detected.
  process.on('SIGHUP', [0, 1, 2].some(isTerminal) ? interrupt : () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') controller.abort(new OutputClosed())
  })
  return { signal: controller.signal }
}
