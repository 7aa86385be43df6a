import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { CliContext, CliProcess } from './cli-context.ts'
import { runCli } from './run-cli.ts'

export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const DEMO_SERVERS = fileURLToPath(new URL('../../demo/servers', import.meta.url))

/** A temporary folder for the running test. */
export function scratchFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sallyport-cli-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export interface TestHome {
  readonly home: string
  readonly state: string
}

/** Two demo servers, one of whose tools is not offered, and one server that cannot be started. */
const CONFIG = `
mcp_servers:
  clock: { command: ${process.execPath}, args: [clock.mjs], cwd: ${DEMO_SERVERS}, exclude_tools: [convert_time] }
  missing: { command: sallyport-no-such-program, env: { KEY: hidden-value } }
`

export function createTestHome(config = CONFIG): TestHome {
  const folder = scratchFolder()
  const home = join(folder, 'home')
  mkdirSync(home)
  writeFileSync(join(home, 'config.yaml'), config)
  return { home, state: join(folder, 'state') }
}

export interface Run {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly at?: TestHome
  readonly cwd?: string
  readonly stdin?: string | Buffer
  readonly environment?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Makes stdout and stderr terminals of this width. */
  readonly columns?: number
}

/** Runs a command line in this process, as `main` would. */
export async function cli(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const out: string[] = []
  const err: string[] = []
  const terminal = options.columns === undefined ? {} : { isTTY: true, columns: options.columns }
  const outputs: CliProcess = {
    stdout: { ...terminal, write: (text) => out.push(text) },
    stderr: { ...terminal, write: (text) => err.push(text) },
  }
  const context: CliContext = {
    process: outputs,
    environment: environmentFor(options),
    cwd: options.cwd ?? tmpdir(),
    stdin: stdinOf(options.stdin ?? ''),
    now: () => new Date(),
    signal: options.signal ?? new AbortController().signal,
  }
  const exit = await runCli(args, context)
  return { exit, stdout: out.join(''), stderr: err.join('') }
}

/** Starts the built program. It is killed when the test ends. */
export function startProgram(args: readonly string[], options: RunOptions = {}): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: environmentFor(options),
    cwd: options.cwd ?? tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

/** Everything that a program printed until its end. */
export async function waitForExit(child: ChildProcess): Promise<Run> {
  const [out, err] = [collect(child.stdout), collect(child.stderr)]
  const [code] = (await once(child, 'close')) as [number | null]
  return { exit: code ?? -1, stdout: await out, stderr: await err }
}

/** Resolves with the output so far as soon as it matches. */
export function waitForOutput(stream: NodeJS.ReadableStream | null, wanted: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    stream?.on('data', (chunk) => {
      text += String(chunk)
      if (wanted.test(text)) resolve(text)
    })
    stream?.once('end', () => reject(new Error(`It ended without ${wanted}: ${text}`)))
  })
}

async function collect(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = ''
  for await (const chunk of stream ?? []) text += String(chunk)
  return text
}

function environmentFor({ at, environment }: RunOptions): Record<string, string> {
  const variables = at === undefined ? {} : { SALLYPORT_HOME: at.home, SALLYPORT_STATE: at.state }
  return { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...variables, ...environment }
}

async function* stdinOf(text: string | Buffer): AsyncGenerator<Buffer> {
  if (text.length > 0) yield Buffer.from(text as string)
}
