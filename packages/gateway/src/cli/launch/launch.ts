import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { SallyportError } from '@sallyport/core'
import { syncBackChanges, writeOverlay } from '../../agents/agents.ts'
import { stateUnusable } from '../../disk/disk.ts'
import type { LocalTokens } from '../../sessions/sessions.ts'
import type { CliContext } from '../cli-context.ts'
import type { FoundHome } from '../find-home.ts'
import { isTokenVariable, withoutTokens } from '../token-variable.ts'
import { type GatewayLease, openGatewayLease } from './gateway-lease.ts'
import type { LaunchPlan } from './launch-plan.ts'
import type { PlannedWindow } from './planned-window.ts'
import {
  createRunFolder,
  findAbandonedRuns,
  type RunFolder,
  readRecordedTokens,
  recordToken,
  removeRunFolder,
  writeLaunchToken,
} from './run-folder.ts'

export interface Launch extends Pick<FoundHome, 'home' | 'state'> {
  readonly context: CliContext
  readonly run: RunFolder
  readonly plan: LaunchPlan
}

/** Runs an agent as planned. Resolves to the agent's exit code. */
export function launch(params: Launch, identity: LaunchIdentity): Promise<number> {
  return withSignals((signals) =>
    params.plan.windows.length === 0
      ? withRunFolder(params, () => startAgent(params, { signals, tokens: [] }))
      : launchWithGateway(params, identity, signals),
  )
}

async function launchWithGateway(params: Launch, identity: LaunchIdentity, signals: SignalForwarder): Promise<number> {
  const { context, home, state } = params
  const environment = withoutModelKeys({ ...context.environment })
  const lease = await openGatewayLease({ state, home, cwd: context.cwd, environment })
  try {
    return await withRunFolder(params, () =>
      withTokens({ ...params, lease }, identity, (tokens) => startAgent(params, { signals, tokens })),
    )
  } finally {
    lease.close()
  }
}

type UseTokens = (tokens: readonly LaunchToken[]) => Promise<number>

/** Creates one token for each window. All of them are revoked at the end, also if creating a later one failed. */
async function withTokens(
  { lease, state, run, plan }: Launch & { readonly lease: GatewayLease },
  identity: LaunchIdentity,
  use: UseTokens,
): Promise<number> {
  const tokens: LaunchToken[] = []
  try {
    for (const window of plan.windows) tokens.push(await mintLaunchToken(lease, run, { ...identity, window }))
    return await use(tokens)
  } finally {
    for (const { id } of tokens) await revokeLaunchToken(lease, state, id)
  }
}

async function withSignals(use: (signals: SignalForwarder) => Promise<number>): Promise<number> {
  const signals = new SignalForwarder()
  try {
    return await use(signals)
  } finally {
    signals.close()
  }
}

/**
 * The folder is created before the token, so that every token is recorded in a folder from which it can be cleaned up.
 */
async function withRunFolder({ state, run }: Launch, use: () => Promise<number>): Promise<number> {
  await removeAbandonedRuns(state)
  createRunFolder(run)
  try {
    return await use()
  } finally {
    removeRunFolder(run)
  }
}

interface StartOptions {
  readonly signals: SignalForwarder
  readonly tokens: readonly LaunchToken[]
}

async function startAgent({ context, run, plan }: Launch, { signals, tokens }: StartOptions): Promise<number> {
  writeRunFiles(run, plan, tokens)
  if (signals.earlySignal) return exitCodeFor(signals.earlySignal)
  // A token of `connect` may allow more than the profile of this run.
  const { SALLYPORT_MASTER_KEY: _, ...inherited } = withoutTokens(context.environment)
  const environment = { ...inherited, ...plan.environment }
  const { program, args } = plan
  try {
    return await runAgent({ program, args, environment, cwd: context.cwd, signals })
  } finally {
    for (const path of syncBackChanges(plan, run.path))
      context.process.stderr.write(`! The agent wrote ${path}, which could not be saved.\n`)
  }
}

function writeRunFiles(run: RunFolder, plan: LaunchPlan, tokens: readonly LaunchToken[]): void {
  try {
    for (const { window, token } of tokens) writeLaunchToken(run, window, token)
    writeOverlay(plan, run.path)
  } catch (cause) {
    throw stateUnusable(run.path, cause)
  }
}

/** Variables with the model credentials of agents. Servers behind the gateway must not see them. */
const MODEL_KEYS: ReadonlySet<string> = new Set([
  'AMP_API_KEY',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'AWS_BEARER_TOKEN_BEDROCK',
  'AZURE_OPENAI_API_KEY',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CODEX_API_KEY',
  'COPILOT_GITHUB_TOKEN',
  'COPILOT_PROVIDER_API_KEY',
  'COPILOT_PROVIDER_BEARER_TOKEN',
  'CURSOR_API_KEY',
  'DASHSCOPE_API_KEY',
  'DEEPSEEK_API_KEY',
  'FACTORY_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'GROQ_API_KEY',
  'KILO_API_KEY',
  'KIMI_API_KEY',
  'MISTRAL_API_KEY',
  'MOONSHOT_API_KEY',
  'OPENAI_API_KEY',
  'OPENCODE_API_KEY',
  'OPENROUTER_API_KEY',
  'QWEN_API_KEY',
  'XAI_API_KEY',
])

/** The environment for a gateway that a run starts. */
function withoutModelKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !MODEL_KEYS.has(name) && !isTokenVariable(name)),
  )
}

interface AgentCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly signals: SignalForwarder
}

const STOPPED_CHECK_MS = 250

/**
 * Runs the agent in the same terminal, with the same streams and folder. Resolves to its exit code, 128 + n for a
 * signal.
 */
async function runAgent({ program, args, environment, cwd, signals }: AgentCommand): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...environment }, cwd })
  signals.forwardTo(child)
  const stopCheck = signals.hasTerminal ? setInterval(() => stopWithChild(child), STOPPED_CHECK_MS) : undefined
  try {
    return await waitForExit(child, program)
  } finally {
    clearInterval(stopCheck)
  }
}

function waitForExit(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new SallyportError('AGENT_MISSING', `${program} could not be started: ${cause.message}.`, { cause }))
    })
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : exitCodeFor(signal)))
  })
}

/** An agent that stops itself on Ctrl-Z stops alone, and the shell, which waits for this process, would not notice. */
function stopWithChild({ pid }: ChildProcess): void {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    if (line.slice(line.lastIndexOf(')') + 2).startsWith('T')) process.kill(process.pid, 'SIGSTOP')
  } catch {
    // Gone, or a system without process files.
  }
}

/**
 * A terminal sends these to its whole foreground group, so the agent gets them anyway; a second one may mean "exit
 * now".
 */
const TERMINAL_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
const FORWARDED_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', ...TERMINAL_SIGNALS]

const exitCodeFor = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Catches the signals that would end this process, as long as there is something to clean up. */
class SignalForwarder {
  readonly hasTerminal: boolean = hasControllingTerminal()
  #child: ChildProcess | undefined
  #earlySignal: NodeJS.Signals | undefined
  readonly #forward = (signal: NodeJS.Signals): void => {
    if (this.#child === undefined) this.#earlySignal ??= signal
    else if (!this.hasTerminal || !TERMINAL_SIGNALS.includes(signal)) this.#child.kill(signal)
  }

  constructor() {
    for (const signal of FORWARDED_SIGNALS) process.on(signal, this.#forward)
  }

  /** A signal that arrived before the agent was started. */
  get earlySignal(): NodeJS.Signals | undefined {
    return this.#earlySignal
  }

  forwardTo(child: ChildProcess): void {
    this.#child = child
  }

  close(): void {
    for (const signal of FORWARDED_SIGNALS) process.off(signal, this.#forward)
  }
}

function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

interface LaunchIdentity {
  readonly agent: string
  readonly profile: string
  /** The session that the runs of the profile share; if missing, the run has its own. */
  readonly session: string | undefined
  /** A person uses the agent interactively and sees questions of servers. */
  readonly attended: boolean
  /** Sources of servers that the gateway does not govern. */
  readonly otherServers: readonly string[]
}

interface LaunchTokenRequest extends LaunchIdentity {
  readonly window: PlannedWindow
}

interface LaunchToken {
  readonly id: string
  /** The key of the window that uses it. */
  readonly window: string
  /** The clear text. */
  readonly token: string
}

const defaultSession = ({ id }: RunFolder): string => `run:${id}`

async function mintLaunchToken(
  lease: GatewayLease,
  run: RunFolder,
  { agent, profile, session = defaultSession(run), window, attended, otherServers: others }: LaunchTokenRequest,
): Promise<LaunchToken> {
  const { key, tools } = window
  const request = { agent, profile, session, attended, ...(tools && { tools }) }
  const { token, record } = await lease.mint({ ...request, ...(others.length > 0 && { otherServers: others }) })
  recordToken(run, record.id)
  return { id: record.id, window: key, token }
}

/** Works also without the gateway, because the token files are authoritative. */
async function revokeLaunchToken(lease: GatewayLease, state: string, id: string): Promise<void> {
  try {
    await lease.revoke(id)
  } catch {
    const tokens = await openTokens(state)
    await tokens.revoke(id).finally(() => tokens.close())
  }
}

/**
 * Cleans up after killed runs. The token is revoked before the folder is removed, because the folder records the token.
 */
async function removeAbandonedRuns(state: string): Promise<void> {
  const abandoned = findAbandonedRuns(state)
  if (abandoned.length === 0) return
  const tokens = await openTokens(state)
  try {
    for (const run of abandoned) {
      const recorded = readRecordedTokens(run)
      const left = tokens.list().filter(({ id, session }) => recorded.includes(id) || session === defaultSession(run))
      for (const { id } of left) await tokens.revoke(id)
      removeRunFolder(run)
    }
  } finally {
    tokens.close()
  }
}

/** Loaded on demand: loading it always would delay every run. */
async function openTokens(state: string): Promise<LocalTokens> {
  const { openLocalTokens } = await import('../../sessions/sessions.ts')
  return openLocalTokens({ state })
}
