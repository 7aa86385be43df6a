import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import {
  type EgressPolicy,
  formatHostAndPort,
  type HostRule,
  judgeTarget,
  type NetworkMode,
  parseHostRule,
  SallyportError,
} from '@sallyport/core'
import {
  DEFAULT_SETTINGS,
  findUserHome,
  isImageName,
  locateHome,
  locateKeys,
  locateState,
} from '../../config/config.ts'
import {
  createProtection,
  type DriverChoice,
  type EgressDecision,
  parseMount,
  parseWorkspace,
  planStart,
  type Sandbox,
  type SandboxDrivers,
  type SandboxedProgram,
} from '../../sandbox/sandbox.ts'
import type { CliContext } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { visibleLines } from '../terminal/terminal-text.ts'
import { openOwnDrivers } from './own-drivers.ts'

export interface RunSandboxedFlags {
  readonly mode?: NetworkMode
  readonly driver?: DriverChoice
  readonly image?: string
  readonly allow?: readonly string[]
  readonly workspace?: string
  readonly mount?: readonly string[]
  readonly env?: readonly string[]
}

type Flags = RunSandboxedFlags & GlobalFlags

/** Runs a program in a sandbox of its own, with the streams of this command, and exits as it does. */
export async function runSandboxed(context: CliContext, flags: Flags, words: readonly string[]): Promise<void> {
  const command = readCommand(flags, words)
  const policy = readPolicy(flags)
  const refusals = new Map<string, EgressDecision>()
  const own = openOwnDrivers(context.environment)
  try {
    const start = await plan(context, { flags, command, drivers: own.drivers })
    const sandbox = await start.open({
      server: 'run-sandboxed',
      policy,
      onDecision: (decision) => {
        if (!decision.ok) refusals.set(formatHostAndPort(decision), decision)
      },
    })
    try {
      context.process.exitCode = await runInside(sandbox)
    } finally {
      await sandbox.close()
    }
  } finally {
    await own.close()
  }
  for (const [target, decision] of refusals)
    report(context, flags, { refused: target, reason: decision.reason, hint: suggestFlags(policy, decision) })
}

type Command = readonly [string, ...string[]]

/** An image has a program of its own, so only arguments are given. */
function readCommand({ image, driver }: Flags, words: readonly string[]): Command {
  if (image !== undefined) {
    if (driver === 'bubblewrap')
      throw new SallyportError('USAGE', 'bubblewrap runs programs of this machine, and no images.', {
        hint: 'Use --driver docker or --driver podman, or leave out --driver.',
      })
    // It would be an option for the engine.
    if (isImageName(image)) return ['', ...words]
    throw new SallyportError('USAGE', `"${image}" is not a valid name of an image.`, {
      hint: 'Write it as for docker pull: registry.example/server:1, server@sha256:….',
    })
  }
  const [program, ...args] = words
  if (program !== undefined) return [program, ...args]
  throw new SallyportError('USAGE', 'There is no program to run.', {
    hint: 'Name it after --: sallyport run-sandboxed -- node server.mjs. Or name an image: --image my-image:1.',
  })
}

interface PlanOptions {
  readonly flags: Flags
  readonly command: Command
  readonly drivers: SandboxDrivers
}

function plan(context: CliContext, { flags, command, drivers }: PlanOptions): ReturnType<typeof planStart> {
  const { environment, cwd } = context
  const { mounts, protection } = readMounts(context, flags)
  const { limits } = DEFAULT_SETTINGS.sandbox
  const program = {
    ...{ driver: flags.driver ?? 'auto', image: flags.image, command, cwd: undefined },
    env: readVariables(context, flags),
    onNote: (note: string) => report(context, flags, { note }),
  }
  return planStart({ drivers, protection, environment, cwd, limits }, program, mounts)
}

function readPolicy({ mode = 'NONE', allow = [] }: Flags): EgressPolicy {
  if (mode === 'NONE' && allow.length > 0)
    throw new SallyportError('USAGE', '--allow has no effect in network mode NONE.', { hint: 'Add --mode PROXIED.' })
  if (mode === 'PROXIED' && allow.length === 0)
    throw new SallyportError('USAGE', 'Network mode PROXIED needs the hosts that may be reached.', {
      hint: 'Add --allow api.example, or use --mode NONE.',
    })
  return { mode, allow: allow.map(requireHostRule) }
}

function requireHostRule(written: string): HostRule {
  const rule = parseHostRule(written)
  if (rule !== undefined) return rule
  throw new SallyportError('USAGE', `"${written}" is not a valid host for --allow.`, {
    hint: 'Write a host, and a port unless it is 80 or 443: api.example, api.example:8443, *.corp.example, 192.0.2.7:5432.',
  })
}

function readMounts({ environment, cwd }: CliContext, { home, state, workspace, mount = [] }: Flags) {
  const own = [
    locateHome({ flag: home, environment, cwd }).path,
    locateState({ flag: state, environment, cwd }),
    locateKeys({ environment, cwd }),
  ]
  const protection = createProtection({ userHome: findUserHome(environment), own })
  const mounts = mount.map((written) => parseMount(written, { cwd, protection }))
  return {
    protection,
    mounts: workspace === undefined ? mounts : [parseWorkspace(workspace, { cwd, protection }), ...mounts],
  }
}

/** By name only: other users can read command lines. */
function readVariables({ environment }: CliContext, { env = [] }: Flags): Record<string, string> {
  return Object.fromEntries(env.map((name) => [name, requireVariable(environment, name)]))
}

function requireVariable(environment: CliContext['environment'], name: string): string {
  const value = environment[name]
  if (value !== undefined) return value
  const isAssignment = name.includes('=')
  const shown = isAssignment ? name.slice(0, name.indexOf('=')) : name
  throw new SallyportError(
    'USAGE',
    isAssignment ? '--env takes a name without a value.' : `The variable ${shown} is not set here.`,
    {
      hint: `Set it before the command: ${shown}=… sallyport run-sandboxed --env ${shown} -- …`,
    },
  )
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']

/** The program is in a session of its own, where no terminal reaches it, so this passes on what the terminal sends. */
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])

async function runInside(sandbox: Sandbox): Promise<number> {
  let program: SandboxedProgram | undefined
  let early: NodeJS.Signals | undefined
  const forward = (signal: NodeJS.Signals): void => {
    if (program === undefined) early ??= signal
    else program.signal(signal, FROM_TERMINAL.has(signal) ? 'group' : 'program')
  }
  for (const signal of SIGNALS) process.on(signal, forward)
  try {
    const { command, args, env, descriptors, stdin = 'inherit' } = sandbox.launch
    const stdio = [stdin, 'inherit', 'inherit', ...descriptors] as const
    const child = spawn(command, args, { stdio: [...stdio], env, detached: true })
    const exited = waitForExit(child)
    program = await sandbox.admit(child)
    if (early !== undefined) forward(early)
    if (child.stdin !== null) passInput(child.stdin)
    const code = await exited
    // Input that nobody reads would keep this process alive.
    if (child.stdin !== null) process.stdin.destroy()
    // What the program started may outlive it for a moment.
    await program.stop()
    return code
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward)
  }
}

function passInput(input: Writable): void {
  // The program need not read all of it.
  input.on('error', () => process.stdin.unpipe(input))
  process.stdin.pipe(input)
}

/** bubblewrap and the engines exit with the code of the program, or with 128 + n if a signal ended it. */
function waitForExit(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    // If it cannot be started, `admit` says so.
    child.once('error', () => resolve(1))
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]))
  })
}

/** The flags that let a refused connection pass; `undefined` if none of them would. */
function suggestFlags(policy: EgressPolicy, target: EgressDecision): string | undefined {
  if (judgeTarget(policy, target).ok) return undefined
  const allow = `--allow ${formatHostAndPort(target)}`
  return policy.mode === 'NONE' ? `--mode PROXIED ${allow}` : allow
}

type Report =
  | { readonly note: string }
  | { readonly refused: string; readonly reason: string; readonly hint: string | undefined }

/** On stderr, since stdout is the program's. */
function report({ process: { stderr } }: CliContext, { json }: Flags, content: Report): void {
  if (json) return void stderr.write(`${JSON.stringify(content)}\n`)
  if ('note' in content) return void stderr.write(`! ${visibleLines(content.note)}\n`)
  const { refused, reason, hint } = content
  stderr.write(`! ${visibleLines(`A connection to ${refused} was refused: ${reason}.`)}\n`)
  if (hint !== undefined) stderr.write(`  To allow it, add ${visibleLines(hint)}\n`)
}
