import { SallyportError } from '@sallyport/core'
import type { StricliProcess } from '@stricli/core'
import type { Environment } from '../config/config.ts'
import { type Interruption, openInterruption } from './terminal/interruption.ts'

/** An output stream, and what is known about its reader. */
export interface Output {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export interface CliProcess extends StricliProcess {
  readonly stdout: Output
  readonly stderr: Output
  exitCode?: number | string | null
}

/** Everything that a command gets from outside. */
export interface CliContext {
  readonly process: CliProcess
  readonly environment: Environment
  readonly cwd: string
  readonly stdin: AsyncIterable<Buffer | string> & { readonly isTTY?: boolean | undefined }
  readonly now: () => Date
  /** Aborts when the user stops the command. A command that never reads it is stopped by the system. */
  readonly signal: AbortSignal
}

/** The context of the real process. A command sets the context's exit code; `main` copies it to the process. */
export function createCliContext(process: NodeJS.Process): CliContext {
  let interruption: Interruption | undefined
  return {
    process: { stdout: process.stdout, stderr: process.stderr, env: process.env },
    environment: process.env,
    get cwd() {
      return workingFolder(process)
    },
    stdin: process.stdin,
    now: () => new Date(),
    get signal() {
      interruption ??= openInterruption(process)
      return interruption.signal
    },
  }
}

/** The folder may have been removed meanwhile. */
function workingFolder(process: NodeJS.Process): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new SallyportError('USAGE', 'The working folder no longer exists.', { hint: 'Change to another one.', cause })
  }
}
