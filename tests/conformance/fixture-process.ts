import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endProcess } from '../harness/run-gateway.ts'
import type { Fixture } from './leg.ts'

export type Eras = 'both' | 'legacy' | 'modern'

/** What to run: the fixture of the SDK speaks both eras, whatever is chosen. */
export interface FixtureChoice {
  readonly fixture: Fixture
  readonly eras: Eras
}

/** Beside this file once all are compiled. */
const MAIN = {
  own: fileURLToPath(new URL('./fixture/main.js', import.meta.url)),
  sdk: fileURLToPath(new URL('./sdk-fixture/main.js', import.meta.url)),
}

export interface RunningFixture {
  readonly url: string
  stop(): Promise<void>
}

/** The command that serves on stdin and stdout, as an entry of `mcp_servers`. */
export function fixtureCommand(choice: FixtureChoice): { readonly command: string; readonly args: readonly string[] } {
  const { fixture, eras } = choice
  return { command: process.execPath, args: [MAIN[fixture], ...(fixture === 'own' ? ['--era', eras] : [])] }
}

/** Starts the fixture on a free port. */
export async function runFixture(choice: FixtureChoice): Promise<RunningFixture> {
  const { command, args } = fixtureCommand(choice)
  const child = spawn(command, [...args, '--http', '0'], { stdio: ['pipe', 'pipe', 'inherit'] })
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
