import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'

/** A terminal sends these to its whole foreground group, so the agent has them already; twice may mean "now, at once". */
const TERMINAL_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
const FORWARDED_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', ...TERMINAL_SIGNALS]

export const exitCodeFor = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Takes the signals that would end this process, for as long as there is something to put away. */
export class SignalForwarder {
  readonly hasTerminal: boolean = hasControllingTerminal()
  #child: ChildProcess | undefined
  #earlySignal: NodeJS.Signals | undefined
  readonly #forward = (signal: NodeJS.Signals): void => {
    if (this.#child === undefined) this.#earlySignal ??= signal
    else if (!this.hasTerminal || !TERMINAL_SIGNALS.includes(signal)) this.#child.kill(signal)
  }

  constructor() {
    for (const signal of FORWARDED_SIGNALS) process.on(signal, this.#forward)
  }

  /** What came before there was anybody to pass it on to. */
  get earlySignal(): NodeJS.Signals | undefined {
    return this.#earlySignal
  }

  forwardTo(child: ChildProcess): void {
    this.#child = child
  }

  close(): void {
    for (const signal of FORWARDED_SIGNALS) process.off(signal, this.#forward)
  }
}

function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
