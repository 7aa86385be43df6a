import { createInterface } from 'node:readline/promises'
import { SallyportError } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'

type Terminal = Pick<CliContext, 'stdin' | 'process'>

/** Whether there is a user who can answer a question. */
export const isTerminal = ({ stdin, process }: Terminal): boolean =>
  stdin.isTTY === true && process.stderr.isTTY === true

/**
 * Asks the user; `undefined` if the terminal was closed. Handles Ctrl-C, because an interrupted question would stay
 * open forever otherwise. `signal` withdraws the question.
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
