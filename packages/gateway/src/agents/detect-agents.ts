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
  /** Why its version is not known. */
  readonly why: string | undefined
}

/** Some agents need half a second of CPU time to print their version. */
const MAX_CONCURRENT = 4
const VERSION_TIMEOUT_MS = 5_000

/** Detects agents and reads their server configuration. A broken agent does not affect the others. */
export async function detectAgents(
  adapters: readonly AgentAdapter[],
  host: HostContext,
): Promise<readonly DetectedAgent[]> {
  const detected: DetectedAgent[] = []
  const waiting = [...adapters.entries()]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      detected[next[0]] = await detectAgent(next[1], host)
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work))
  return detected
}

async function detectAgent(adapter: AgentAdapter, host: HostContext): Promise<DetectedAgent> {
  const path = adapter.program === undefined ? undefined : findProgram(adapter.program, host)
  const [program, fileResults] = await Promise.all([
    path && readInstalledProgram(path, host),
    readAgentConfigs(adapter, host),
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

/** Runs `--version` with a timeout. The program is started without a shell, and no process of it survives. */
async function readProgramVersion({ program, environment, home, timeoutMs }: VersionRequest): Promise<VersionResult> {
  return new Promise((resolve) => {
    // In the user's home, so that the program does not read files of the working folder.
    const child = spawn(program, ['--version'], {
      cwd: home,
      env: { ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
      windowsHide: true,
    })
    let output = ''
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
      output += text
      if (output.length > MAX_OUTPUT_LENGTH) giveUp(parseVersion(output))
    })
    child.once('error', () => finish({ why: 'It could not be started.' }))
    // Child processes that it left may keep its output open forever.
    child.once('exit', () => killProcessGroup(child.pid))
    child.once('close', () => finish(parseVersion(output)))
  })
}

function parseVersion(output: string): VersionResult {
  const [version] = VERSION.exec(output.slice(0, MAX_OUTPUT_LENGTH)) ?? []
  return version === undefined ? { why: 'It printed no version.' } : { version }
}

/** The process group has the id of the process, since it was started detached. */
function killProcessGroup(pid: number | undefined): void {
  if (pid === undefined || process.platform === 'win32') return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has no processes left.
  }
}
