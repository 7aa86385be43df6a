import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'

/** A terminal sends these to its whole foreground group, so the agent has them already; twice may mean "now, at once". */
const OF_THE_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', ...OF_THE_TERMINAL]

export const exitCodeFor = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Takes the signals that would end this process, for as long as there is something to put away. */
export class SignalPassing {
  readonly hasTerminal: boolean = terminalIsThere()
  #child: ChildProcess | undefined
  #early: NodeJS.Signals | undefined
  readonly #hear = (signal: NodeJS.Signals): void => {
    if (this.#child === undefined) this.#early ??= signal
    else if (!this.hasTerminal || !OF_THE_TERMINAL.includes(signal)) this.#child.kill(signal)
  }

  constructor() {
    for (const signal of PASSED_ON) process.on(signal, this.#hear)
  }

  /** What came before there was anybody to pass it on to. */
  get early(): NodeJS.Signals | undefined {
    return this.#early
  }

  passTo(child: ChildProcess): void {
    this.#child = child
  }

  close(): void {
    for (const signal of PASSED_ON) process.off(signal, this.#hear)
  }
}

function terminalIsThere(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
