import { createInterface } from 'node:readline/promises'
import { SallyportError } from '@sallyport/core'
import type { CliContext } from './cli-context.ts'

/** The answer; nothing when the terminal was closed. An interrupted question would else stay open for ever. */
export async function ask(
  question: string,
  { stdin, process }: Pick<CliContext, 'stdin' | 'process'>,
): Promise<string> {
  const terminal = createInterface({
    input: stdin as unknown as NodeJS.ReadableStream,
    output: process.stderr as unknown as NodeJS.WritableStream,
  })
  try {
    return await new Promise<string>((resolve, reject) => {
      terminal.once('SIGINT', () => reject(new SallyportError('CALL_CANCELLED', 'Interrupted.')))
      terminal.once('close', () => resolve(''))
      terminal.question(question).then((answer) => resolve(answer.trim()), reject)
    })
  } finally {
    terminal.close()
  }
}
