import { isatty } from 'node:tty'
import { SallyportError } from '@sallyport/core'

/** How long an interrupted command may take to put things away. */
const GRACE_MS = 5_000
/** One Ctrl-C can arrive twice: from the terminal, and from the npm above us, which passes on what it receives. */
const SAME_PRESS_MS = 500
const EXIT_INTERRUPTED = 130

/** The reader of our output went away (`| head`): the command ends, and nothing is said about it. */
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
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

/** Turns Ctrl-C into an orderly end; a second one, or one that is not obeyed in time, ends the process at once. */
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
  // `nohup` has SIGHUP ignored, which Node undoes before we can see it. It also takes every terminal away, and one that
  // never had a terminal cannot lose it. Asked now, for a terminal that hung up is none any more.
  process.on('SIGHUP', [0, 1, 2].some(isTerminal) ? interrupt : () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') controller.abort(new OutputClosed())
  })
  return { signal: controller.signal }
}
