import { spawn } from 'node:child_process'
import type { AgentPlace } from './agent-adapter.ts'

export type VersionAnswer = { readonly version: string } | { readonly why: string }

export interface VersionQuestion extends Pick<AgentPlace, 'environment' | 'home'> {
  readonly program: string
  readonly limitMs: number
}

const MOST_CHARACTERS = 4_096
const VERSION = /\d+\.\d+(?:[.+-]\w+|\w)*/

/** What a program says to `--version`, within a time limit. It is started without a shell, and nothing of it stays. */
export async function askVersion({ program, environment, home, limitMs }: VersionQuestion): Promise<VersionAnswer> {
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
    const finish = (answer: VersionAnswer): void => {
      clearTimeout(timer)
      child.stdout.destroy()
      resolve(answer)
    }
    const giveUp = (answer: VersionAnswer): void => {
      endGroup(child.pid)
      finish(answer)
    }
    const timer = setTimeout(() => giveUp({ why: `It did not answer within ${limitMs / 1000} s.` }), limitMs)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.length > MOST_CHARACTERS) giveUp(answerOf(said))
    })
    child.once('error', () => finish({ why: 'It could not be started.' }))
    // Whatever it left behind may hold its output open for ever.
    child.once('exit', () => endGroup(child.pid))
    child.once('close', () => finish(answerOf(said)))
  })
}

function answerOf(said: string): VersionAnswer {
  const [version] = VERSION.exec(said.slice(0, MOST_CHARACTERS)) ?? []
  return version === undefined ? { why: 'It named no version.' } : { version }
}

/** Its group has its id, since it was started detached. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined || process.platform === 'win32') return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}
