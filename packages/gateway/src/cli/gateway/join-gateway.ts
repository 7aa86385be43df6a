import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { Home } from '../../config/config.ts'
import { MAIN_FILE } from '../../package-root.ts'
import {
  type ConnectionOptions,
  connectToGateway,
  JOIN_RETRY_MS,
  JOIN_TIMEOUT_MS,
  parseErrorReply,
} from './gateway-connection.ts'

export interface JoinOptions extends Omit<ConnectionOptions, 'home'> {
  readonly home: Home
  readonly cwd: string
  /** The environment of the gateway if one has to be started. */
  readonly environment: NodeJS.ProcessEnv
}

/** Joins the gateway that holds the state, starting one if none runs. */
export async function joinGateway(purpose: 'lines' | 'run', options: JoinOptions): Promise<Duplex> {
  const { home, state, cwd, environment } = options
  for (const until = performance.now() + JOIN_TIMEOUT_MS; ; await delay(JOIN_RETRY_MS)) {
    const joined = await connectToGateway(purpose, { ...options, home: home.path })
    if (joined) return joined
    // A home from the working folder is not named: the gateway finds it there again and checks that it is trusted.
    await startBackgroundGateway({ home: home.origin === 'project' ? undefined : home.path, state, cwd, environment })
    if (performance.now() > until)
      throw new SallyportError('GATEWAY_UNREACHABLE', `The gateway on the state ${state} does not answer.`)
  }
}

interface BackgroundOptions {
  readonly home: string | undefined
  readonly state: string
  readonly cwd: string
  readonly environment: NodeJS.ProcessEnv
}

/** The background gateway reports the result of its start on this descriptor, and closes it. */
export const REPORT_DESCRIPTOR = 3

const MAX_LOG_BYTES = 1_000_000

/**
 * Starts a gateway in a process that outlives this one, and waits until it can be joined. `false` if another one was
 * faster.
 */
async function startBackgroundGateway({ home, state, cwd, environment }: BackgroundOptions): Promise<boolean> {
  const args = ['serve', '--background', '--state', state, ...(home === undefined ? [] : ['--home', home])]
  const logFile = openLogFile(state)
  const child = spawn(process.execPath, [MAIN_FILE, ...args], {
    detached: true,
    cwd,
    env: environment,
    stdio: ['ignore', 'ignore', logFile, 'pipe'],
  })
  if (logFile !== 'ignore') closeSync(logFile)
  // A program that cannot be started reports nothing; that is handled below.
  child.once('error', () => {})
  const report = await readAll(child.stdio[REPORT_DESCRIPTOR] as Readable)
  child.unref()
  if (report === 'ready') return true
  const failure = report === '' ? startupFailedError(state) : parseErrorReply(report)
  if (failure.code === 'STATE_HELD') return false
  throw failure
}

/** The stderr of a process without a terminal goes to a log file, which is truncated when it is too large. */
function openLogFile(state: string): number | 'ignore' {
  try {
    const folder = join(state, 'logs')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, 'gateway.log')
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    return openSync(file, size > MAX_LOG_BYTES ? 'w' : 'a', 0o600)
  } catch {
    // The gateway that is about to start checks its state and reports what is wrong.
    return 'ignore'
  }
}

const startupFailedError = (state: string): SallyportError =>
  new SallyportError('GATEWAY_UNREACHABLE', 'The gateway ended while it started.', {
    hint: `See ${join(state, 'logs', 'gateway.log')}.`,
  })

async function readAll(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}
