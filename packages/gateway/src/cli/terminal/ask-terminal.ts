import { createInterface } from 'node:readline/promises'
import { SallyportError } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'

type Terminal = Pick<CliContext, 'stdin' | 'process'>

/** Whether somebody sits there who can be asked. */
export const isTerminal = ({ stdin, process }: Terminal): boolean =>
  stdin.isTTY === true && process.stderr.isTTY === true

/**
 * The answer of whoever sits there; nothing when the terminal was closed. An interrupted question would else stay open
 * for ever. `signal` takes the question back.
 */
export async function askTerminal(
  question: string,
  terminal: Terminal,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const lines = createInterface({
    input: terminal.stdin as unknown as NodeJS.ReadableStream,
    output: terminal.process.stderr as unknown as NodeJS.WritableStream,
  })
  try {
    return await new Promise<string | undefined>((resolve, reject) => {
      lines.once('SIGINT', () => reject(new SallyportError('CALL_CANCELLED', 'Interrupted.')))
      lines.once('close', () => resolve(undefined))
      const asked = signal ? lines.question(question, { signal }) : lines.question(question)
      asked.then((answer) => resolve(answer.trim()), reject)
    })
  } finally {
    lines.close()
  }
}

export const isYes = (answer: string | undefined): boolean => /^y(es)?$/i.test(answer ?? '')
