import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import {
  type EgressPolicy,
  formatHostAndPort,
  type HostRule,
  judgeTarget,
  type NetworkMode,
  parseHostRule,
  SallyportError,
} from '@sallyport/core'
import { DEFAULT_SETTINGS, findUserHome, locateHome, locateKeys, locateState } from '../../config/config.ts'
import {
  buildSandboxEnvironment,
  createBubblewrapDriver,
  createProtection,
  type EgressDecision,
  openSandbox,
  parseMount,
  parseWorkspace,
  planProgram,
  type Sandbox,
  type SandboxedProgram,
} from '../../sandbox/sandbox.ts'
import type { CliContext } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { visibleLines } from '../terminal/terminal-text.ts'

export interface RunSandboxedFlags {
  readonly mode?: NetworkMode
  readonly allow?: readonly string[]
  readonly workspace?: string
  readonly mount?: readonly string[]
  readonly env?: readonly string[]
}

type Flags = RunSandboxedFlags & GlobalFlags

/** Runs a program in a sandbox of its own, with the streams of this command, and exits as it does. */
export async function runSandboxed(context: CliContext, flags: Flags, words: readonly string[]): Promise<void> {
  const policy = readPolicy(flags)
  const { environment } = context
  const { notes, ...plan } = planProgram({
    ...{ command: words as [string, ...string[]], cwd: context.cwd, environment },
    ...readMounts(context, flags),
  })
  for (const note of notes) report(context, flags, { note })
  const env = buildSandboxEnvironment(environment, readVariables(context, flags))
  const refusals = new Map<string, EgressDecision>()
  const sandbox = await openSandbox({
    driver: createBubblewrapDriver({ environment }),
    server: 'run-sandboxed',
    spec: { ...plan, env, limits: DEFAULT_SETTINGS.sandbox.limits },
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
  for (const [target, decision] of refusals)
    report(context, flags, { refused: target, reason: decision.reason, hint: suggestFlags(policy, decision) })
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
    const { command, args, env, descriptors } = sandbox.launch
    const stdio = ['inherit', 'inherit', 'inherit', ...descriptors] as const
    const child = spawn(command, args, { stdio: [...stdio], env, detached: true })
    const exited = waitForExit(child)
    program = await sandbox.admit(child)
    if (early !== undefined) forward(early)
    const code = await exited
    // What the program started may outlive it for a moment.
    await program.stop()
    return code
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward)
  }
}

/** bubblewrap exits with the code of the program, or with 128 + n if a signal ended it. */
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
