import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endProcess } from '../run-gateway.ts'

/** Beside this file once both are compiled. */
const MAIN = fileURLToPath(new URL('./fixture/main.js', import.meta.url))

export type Eras = 'both' | 'legacy' | 'modern'

export interface RunningFixture {
  readonly url: string
  stop(): Promise<void>
}

/** The command that serves on stdin and stdout, as an entry of `mcp_servers`. */
export function fixtureCommand(eras: Eras): object {
  return { command: process.execPath, args: [MAIN, '--era', eras] }
}

/** Starts the fixture on a free port. */
export async function runFixture(eras: Eras): Promise<RunningFixture> {
  const child = spawn(process.execPath, [MAIN, '--era', eras, '--http', '0'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const port = await firstLine(child)
  return { url: `http://localhost:${port}/mcp`, stop: () => endProcess(child) }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('The fixture has no stdout')
  const gone = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The fixture ended with ${code}`)))
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), gone])
  gone.catch(() => {})
  return line
}
