import { SallyportError } from '@sallyport/core'
import type { StricliProcess } from '@stricli/core'
import type { Environment } from '../config/config.ts'
import { type Interruption, openInterruption } from './terminal/interruption.ts'

/** Where text goes, and what is known of the reader at the other end. */
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

/** Everything that a command knows of the world outside. */
export interface CliContext {
  readonly process: CliProcess
  readonly environment: Environment
  readonly cwd: string
  readonly stdin: AsyncIterable<Buffer | string> & { readonly isTTY?: boolean | undefined }
  readonly now: () => Date
  /** Aborts when the user stops the command. Whoever never asks for it is stopped by the system. */
  readonly signal: AbortSignal
}

/** The real world. What a command decides stays in the context's own exit code until `main` takes it over. */
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

/** Somebody may have removed it under us. */
function workingFolder(process: NodeJS.Process): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new SallyportError('USAGE', 'The working folder no longer exists.', { hint: 'Change to another one.', cause })
  }
}
