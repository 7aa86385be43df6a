import { spawn } from 'node:child_process'
import type { HostContext } from './agent-adapter.ts'

export type VersionResult = { readonly version: string } | { readonly why: string }

export interface VersionRequest extends Pick<HostContext, 'environment' | 'home'> {
  readonly program: string
  readonly timeoutMs: number
}

const MAX_OUTPUT_LENGTH = 4_096
const VERSION = /\d+\.\d+(?:[.+-]\w+|\w)*/

/** What a program says to `--version`, within a time limit. It is started without a shell, and nothing of it stays. */
export async function readProgramVersion({
  program,
  environment,
  home,
  timeoutMs,
}: VersionRequest): Promise<VersionResult> {
  return new Promise((resolve) => {
    // In the user's home: what stands in this folder's files is none of its business here.
    const child = spawn(program, ['--version'], {
      cwd: home,
      env: { ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
      windowsHide: true,
    })
    let said = ''
    const finish = (answer: VersionResult): void => {
      clearTimeout(timer)
      child.stdout.destroy()
      resolve(answer)
    }
    const giveUp = (answer: VersionResult): void => {
      killProcessGroup(child.pid)
      finish(answer)
    }
    const timer = setTimeout(() => giveUp({ why: `It did not answer within ${timeoutMs / 1000} s.` }), timeoutMs)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.length > MAX_OUTPUT_LENGTH) giveUp(parseVersion(said))
    })
    child.once('error', () => finish({ why: 'It could not be started.' }))
    // Whatever it left behind may hold its output open for ever.
    child.once('exit', () => killProcessGroup(child.pid))
    child.once('close', () => finish(parseVersion(said)))
  })
}

function parseVersion(said: string): VersionResult {
  const [version] = VERSION.exec(said.slice(0, MAX_OUTPUT_LENGTH)) ?? []
  return version === undefined ? { why: 'It named no version.' } : { version }
}

/** Its group has its id, since it was started detached. */
function killProcessGroup(pid: number | undefined): void {
  if (pid === undefined || process.platform === 'win32') return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}
