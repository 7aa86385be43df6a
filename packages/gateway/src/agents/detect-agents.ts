import { spawn } from 'node:child_process'
import type { AgentAdapter, HostContext } from './agent-adapter.ts'
import { findProgram } from './find-program.ts'
import { type NativeFileResult, readAgentConfigs } from './read-agent-configs.ts'

/** An agent on this machine. */
export interface DetectedAgent {
  readonly adapter: AgentAdapter
  readonly program: InstalledProgram | undefined
  readonly fileResults: readonly NativeFileResult[]
}

export interface InstalledProgram {
  readonly path: string
  readonly version: string | undefined
  /** Why it told no version. */
  readonly why: string | undefined
}

/** Some of them take half a second of a processor to say their version. */
const MAX_CONCURRENT = 4
const VERSION_TIMEOUT_MS = 5_000

/** Looks for agents and reads what they say of their servers. One that is broken spoils no other. */
export async function detectAgents(
  adapters: readonly AgentAdapter[],
  place: HostContext,
): Promise<readonly DetectedAgent[]> {
  const sights: DetectedAgent[] = []
  const waiting = [...adapters.entries()]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      sights[next[0]] = await detectAgent(next[1], place)
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work))
  return sights
}

async function detectAgent(adapter: AgentAdapter, place: HostContext): Promise<DetectedAgent> {
  const path = adapter.program === undefined ? undefined : findProgram(adapter.program, place)
  const [program, fileResults] = await Promise.all([
    path && readInstalledProgram(path, place),
    readAgentConfigs(adapter, place),
  ])
  return { adapter, program: program || undefined, fileResults }
}

async function readInstalledProgram(path: string, { environment, home }: HostContext): Promise<InstalledProgram> {
  const answer = await readProgramVersion({ program: path, environment, home, timeoutMs: VERSION_TIMEOUT_MS })
  return 'version' in answer
    ? { path, version: answer.version, why: undefined }
    : { path, version: undefined, why: answer.why }
}

type VersionResult = { readonly version: string } | { readonly why: string }

interface VersionRequest extends Pick<HostContext, 'environment' | 'home'> {
  readonly program: string
  readonly timeoutMs: number
}

const MAX_OUTPUT_LENGTH = 4_096
const VERSION = /\d+\.\d+(?:[.+-]\w+|\w)*/

/** What a program says to `--version`, within a time limit. It is started without a shell, and nothing of it stays. */
async function readProgramVersion({ program, environment, home, timeoutMs }: VersionRequest): Promise<VersionResult> {
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
