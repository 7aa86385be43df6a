import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import type { Outcome } from '../harness/run-command.ts'
import type { AgentPlace } from './agent-place.ts'

export interface AgentRun {
  readonly command: readonly string[]
  readonly place: AgentPlace
  /** Where the CLI's program is. */
  readonly bin: string
  readonly environment: Readonly<Record<string, string>>
}

/** A CLI that takes longer for a turn hangs. */
const RUN_TIMEOUT_MS = 120_000
/** Used if there is no network namespace that keeps them on loopback: nothing listens there. */
const NOWHERE = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' }

/** Runs a command to its end in a home of its own: no files of the user, and no terminal. */
export async function runAgent({ command, place, bin, environment }: AgentRun): Promise<Outcome> {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: place.work,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...plainEnvironment(place, bin), ...environment },
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  }
  const giveUp = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), RUN_TIMEOUT_MS)
  const [code] = await once(child, 'close')
  clearTimeout(giveUp)
  return { code, ...output }
}

function plainEnvironment({ root, home }: AgentPlace, bin: string): Record<string, string> {
  return {
    PATH: [bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    ...{ HOME: home, TMPDIR: join(root, 'tmp'), LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1' },
    SALLYPORT_MARK: process.env.SALLYPORT_MARK ?? '',
    ...(process.env.SALLYPORT_AGENTS_NETWORK === 'loopback' ? {} : NOWHERE),
  }
}
