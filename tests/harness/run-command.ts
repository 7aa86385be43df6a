import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { MAIN } from './run-gateway.ts'

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** What runs node, such as `setpriv …` or a shell with limits. */
  readonly through?: readonly string[]
}

/** Runs the built command line to its end. */
export const runCommand = (args: readonly string[], options?: CommandOptions): Promise<Outcome> =>
  runScript(MAIN, args, options)

/** Runs a program of node to its end. */
export async function runScript(
  script: string,
  args: readonly string[] = [],
  options: CommandOptions = {},
): Promise<Outcome> {
  const [program = '', ...rest] = [...(options.through ?? []), process.execPath, script, ...args]
  const child = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  }
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** The error that a command printed with `--json`. */
export function errorOf({ stderr }: Outcome): { code: string; message: string; hint?: string } {
  const line = stderr.trim().split('\n').at(-1) ?? ''
  return JSON.parse(line).error
}
