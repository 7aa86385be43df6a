import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { eventually, processesWith } from '../harness/processes.ts'
import { MAIN, makePlace, type Place, REPOSITORY } from '../harness/run-gateway.ts'

const FAKE_AGENT = join(REPOSITORY, 'tests/fixtures/fake-agent.mjs')
const EVERYTHING = join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')

/** What the fake agent saw. */
export interface Seen {
  readonly pid: number
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  readonly terminal: readonly boolean[]
  readonly servers: Readonly<Record<string, readonly string[]>>
  readonly signals: readonly string[]
  /** What it was asked, as a person would be. */
  readonly asked: readonly { readonly message: string; readonly fields: readonly string[] }[]
  readonly input?: string
  readonly again?: number
  readonly lost?: unknown
  readonly answer?: { readonly result?: Record<string, unknown> }
}

export interface StartedRun {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** What its agent has written down, as soon as it has. */
  seen(): Promise<Seen>
  /** Exit code, or the signal that ended `sallyport run` itself. */
  end(): Promise<number | NodeJS.Signals | null>
}

export interface StartOptions {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: 'ignore' | 'pipe'
  readonly detached?: boolean
  /** What runs it, such as a terminal. */
  readonly through?: (command: readonly string[]) => readonly string[]
}

/** A user with a home full of an agent's files, a gateway's home, and the fake agent in PATH as `claude`. */
export class LaunchBench {
  readonly place: Place
  readonly root: string = mkdtempSync(join(tmpdir(), 'sallyport-launch-'))
  readonly userHome: string = join(this.root, 'user')
  readonly project: string = join(this.root, 'user', 'project')
  readonly #bin = join(this.root, 'bin')
  readonly #started: StartedRun[] = []
  #reports = 0

  constructor(config: object = {}) {
    this.place = makePlace()
    this.place.writeConfig({
      gateway: { linger: '100ms' },
      // Where nothing is cut, the reader of results comes with no tool.
      context: { cap: 'off' },
      mcp_servers: { one: this.server() },
      ...config,
    })
    mkdirSync(this.#bin)
    copyFileSync(FAKE_AGENT, join(this.#bin, 'claude'))
    this.write('.claude.json', '{"mcpServers": {"own": {"command": "false"}}, "oauthAccount": {"uuid": "1"}}')
    this.write('project/.mcp.json', '{"mcpServers": {"theirs": {"command": "false"}}}')
    this.write('.claude/settings.json', '{"permissions": {}}')
  }

  /** An entry of a server that offers `echo`, `add` and more. */
  server(...words: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
    return { command: 'node', args: [EVERYTHING, `for=${this.place.state}`, ...words] }
  }

  /** Below the user's home. */
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.userHome, path)), { recursive: true })
    writeFileSync(join(this.userHome, path), text)
  }

  /** By agent and variant, as profiles.json writes them. */
  writeProfiles(executors: object): void {
    writeFileSync(join(this.place.home, 'profiles.json'), JSON.stringify({ executors }))
  }

  start(
    args: readonly string[],
    { flags = [], env = {}, stdin = 'ignore', detached, through }: StartOptions = {},
  ): StartedRun {
    const report = join(this.root, `report-${this.#reports++}`)
    const { home, state } = this.place
    const command = [process.execPath, MAIN, 'run', 'claude', '--home', home, '--state', state, ...flags, '--', ...args]
    const [program = '', ...rest] = through ? through(command) : command
    const child = spawn(program, rest, {
      cwd: this.project,
      env: { ...this.environment(), FAKE_REPORT: report, ...env },
      stdio: [stdin, 'pipe', 'pipe'],
      ...(detached && { detached }),
    })
    const run = startedRun(child, report)
    this.#started.push(run)
    return run
  }

  environment(): Readonly<Record<string, string>> {
    return {
      ...(process.env as Record<string, string>),
      HOME: this.userHome,
      PATH: `${this.#bin}${delimiter}${process.env.PATH}`,
    }
  }

  /** The folders of runs that are there now. */
  runs(): readonly string[] {
    const folder = join(this.place.state, 'runs')
    return existsSync(folder) ? readdirSync(folder) : []
  }

  /** The ids of the valid tokens that were created. */
  tokens(): readonly string[] {
    return readdirSync(join(this.place.state, 'tokens')).filter((name) => name.endsWith('.json'))
  }

  /** The commands that run on this state. */
  processes(): readonly string[] {
    return processesWith(this.place.state).map((pid) => wordsOf(pid).join(' '))
  }

  gateways(): readonly number[] {
    return processesWith(this.place.state).filter((pid) => wordsOf(pid).includes('--background'))
  }

  /** The processes of `sallyport run` itself. */
  launchers(): readonly number[] {
    return processesWith(this.place.state).filter((pid) => wordsOf(pid)[1] === MAIN && wordsOf(pid)[2] === 'run')
  }

  /** Every file of the user, with its content and its times. */
  userFiles(): Readonly<Record<string, string>> {
    const files = readdirSync(this.userHome, { recursive: true, encoding: 'utf8' }).map((name) => {
      const path = join(this.userHome, name)
      const stats = lstatSync(path, { bigint: true })
      const content = stats.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : ''
      return [name, `${stats.mode}:${stats.mtimeNs}:${stats.ctimeNs}:${content}`]
    })
    return Object.fromEntries(files)
  }

  /** Nothing runs on this state any more. */
  untilEmpty(): Promise<unknown> {
    return eventually(
      () => this.processes(),
      (lines) => lines.length === 0,
    )
  }

  async close(): Promise<void> {
    for (const { child } of this.#started)
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    for (const pid of processesWith(this.root)) killQuietly(pid)
    await this.untilEmpty()
    rmSync(this.root, { recursive: true, force: true })
    this.place.remove()
  }
}

function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It went by itself.
  }
}

function startedRun(child: ChildProcess, report: string): StartedRun {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  const closed = once(child, 'close')
  return {
    child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    seen: async () => {
      await eventually(
        () => existsSync(report) || (child.exitCode !== null && `it ended with ${child.exitCode}: ${output.stderr}`),
        (there) => there === true,
      )
      return JSON.parse(readFileSync(report, 'utf8')) as Seen
    },
    end: async () => {
      const [code, signal] = await closed
      return code ?? signal
    },
  }
}
