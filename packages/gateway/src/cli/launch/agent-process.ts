import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { SallyportError } from '@sallyport/core'
import { exitCodeFor, type SignalForwarder } from './signals.ts'

export interface AgentCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly signals: SignalForwarder
}

const STOPPED_CHECK_MS = 250

/** Runs the agent in our place: same terminal, same streams, same folder. Resolves to its exit code, 128 + n for a signal. */
export async function runAgent({ program, args, environment, cwd, signals }: AgentCommand): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...environment }, cwd })
  signals.forwardTo(child)
  const followed = signals.hasTerminal ? setInterval(() => stopWithChild(child), STOPPED_CHECK_MS) : undefined
  try {
    return await waitForExit(child, program)
  } finally {
    clearInterval(followed)
  }
}

function waitForExit(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new SallyportError('AGENT_MISSING', `${program} could not be started: ${cause.message}.`, { cause }))
    })
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : exitCodeFor(signal)))
  })
}

/** An agent that stops itself on Ctrl-Z stops alone; the shell that waits for us would never notice. */
function stopWithChild({ pid }: ChildProcess): void {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    if (line.slice(line.lastIndexOf(')') + 2).startsWith('T')) process.kill(process.pid, 'SIGSTOP')
  } catch {
    // Gone, or a system without process files.
  }
}
